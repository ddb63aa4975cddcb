/** Finds the tokens that a landed transaction moved for a proof: from memos, instructions, executed batches and balances. */
import { isMemo } from '../../actions/memo.js';
import {
  actionContent,
  actionRecipients,
  type DecodedInstruction,
  describeInstruction,
  type PipelineAction,
  type SourceAction,
  totalOf,
} from '../../actions/registry.js';
import { type PastDescription, readPastContent } from '../../approval/batch-content.js';
import type { ChainReader, TokenChange, TransactionRecord } from '../../chain/chain.js';
import {
  COMPUTE_BUDGET_PROGRAM,
  MEMO_PROGRAM,
  SQUADS_PROGRAM,
  SYSTEM_PROGRAM,
} from '../../chain/programs.js';
import { associatedTokenAddress, transactionAddress } from '../../chain/squads/addresses.js';
import { instructionName } from '../../chain/squads/instructions.js';
import { readMultisig } from '../../chain/squads/read-accounts.js';
import { type Call, callsIn, type Instruction } from '../../chain/transaction/message.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import type { Address } from '../../values/address.js';

interface ProofMemo {
  readonly type: string;
  readonly hash: string;
}

function parseProofMemo(text: string): ProofMemo | undefined {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, hash } = value as Readonly<Record<string, unknown>>;
  return typeof type === 'string' && typeof hash === 'string' ? { type, hash } : undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function ownMemos(wire: Uint8Array): readonly string[] {
  return callsIn(decodeTransaction(wire).message)
    .filter(({ program }) => program === MEMO_PROGRAM)
    .map(({ data }) => Buffer.from(data).toString('utf8'));
}

const INVOKE = /^Program (\S+) invoke \[\d+\]$/;
const RETURN = /^Program \S+ (?:success|failed.*)$/;
/** The program logs the length, then the text: on the same line or on the next, depending on its version. */
const MEMO_LENGTH = /^Program log: Memo \(len (\d+)\)(?:: (".*"))?$/s;
const LOG_PREFIX = 'Program log: ';

/** Only memos that the Memo program itself logged; the same text from another program is ignored. */
export function loggedMemos(logs: readonly string[]): readonly string[] {
  const running: string[] = [];
  return logs.flatMap((line, at) => {
    const invoked = INVOKE.exec(line)?.[1];
    if (invoked !== undefined) running.push(invoked);
    else if (RETURN.test(line)) running.pop();
    return running.at(-1) === MEMO_PROGRAM ? memoAt(line, logs[at + 1]) : [];
  });
}

function memoAt(line: string, next: string | undefined): readonly string[] {
  const [found, length, quoted] = MEMO_LENGTH.exec(line) ?? [];
  if (found === undefined) return [];
  const text = quoted === undefined ? next?.slice(LOG_PREFIX.length) : unquote(quoted);
  // A truncated log has only part of the memo.
  return text !== undefined && Buffer.byteLength(text) === Number(length) ? [text] : [];
}

/** The program logs text in Rust's debug format: JSON escapes except for `\u{…}` and `\'`. */
function unquote(text: string): string {
  const json = text
    .replace(/\\u\{([0-9a-f]+)\}/gi, (_all, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replaceAll("\\'", "'");
  const value = parsed(json);
  return typeof value === 'string' ? value : '';
}

export const proofMemos = (wire: Uint8Array, logs: readonly string[]): readonly ProofMemo[] =>
  [...ownMemos(wire), ...loggedMemos(logs)].flatMap((text) => parseProofMemo(text) ?? []);

type Sequence = readonly DecodedInstruction[];

/** `untold` is the reason, without a full stop. */
export type Told = { readonly ofProof: Sequence; readonly all: Sequence } | { readonly untold: string };

export interface LandedTransaction {
  readonly chain: ChainReader;
  readonly wire: Uint8Array;
  readonly record: TransactionRecord;
}

export async function readMoved(landed: LandedTransaction, hash: string): Promise<Told> {
  const instructions = ownInstructions(landed);
  if (instructions === undefined)
    return { untold: 'the transaction uses a lookup table whose accounts the RPC node does not return' };
  const own: DecodedInstruction[] = [];
  const sequences: Sequence[] = [own];
  for (const instruction of [...instructions, ...innerCallsOf(landed)]) {
    if (MOVES_NO_TOKENS.has(instruction.program)) continue;
    if (instruction.program !== SQUADS_PROGRAM) {
      own.push(describeInstruction(instruction));
      continue;
    }
    const executed = await executedBy(landed, instruction);
    if (typeof executed === 'string') return { untold: executed };
    sequences.push(executed);
  }
  const all = sequences.flat();
  const unknown = all.find((one) => one.kind === 'unknown');
  if (unknown?.kind === 'unknown') return { untold: `unknown instruction of the program ${unknown.program}` };
  return { ofProof: sequences.flatMap((sequence) => sectionsOf(sequence, hash)), all };
}

const MOVES_NO_TOKENS: ReadonlySet<Address> = new Set([COMPUTE_BUDGET_PROGRAM, SYSTEM_PROGRAM]);

/** `undefined`: a lookup table's accounts are unknown. */
function ownInstructions({ wire, record }: LandedTransaction): readonly Instruction[] | undefined {
  const calls = callsIn(decodeTransaction(wire).message, record.tableAddresses);
  const isHidden = calls.some(({ program, accounts }) => [program, ...accounts].includes(undefined));
  return isHidden ? undefined : calls.map((call) => instructionOf(call as Call<Address>));
}

/** Account rights do not matter: the transaction has succeeded. */
const instructionOf = ({ accounts, ...call }: Call<Address>): Instruction => ({
  ...call,
  accounts: accounts.map((address) => ({ address, signer: false, writable: false })),
});

const innerCallsOf = ({ record: { innerCalls = [] } }: LandedTransaction): readonly Instruction[] =>
  innerCalls.filter(({ program }) => program === SQUADS_PROGRAM).map(instructionOf);

/** A vault transaction may do more than execute batches; then the balances must confirm the result. */
const isToldInside = (landed: LandedTransaction): boolean =>
  landed.record.tokenChanges !== undefined &&
  innerCallsOf(landed).some(({ data }) => instructionName(data) === 'batchExecuteTransaction');

async function executedBy(
  landed: LandedTransaction,
  { accounts, data }: Instruction,
): Promise<Sequence | string> {
  const name = instructionName(data);
  if (name === undefined || (name === 'vaultTransactionExecute' && !isToldInside(landed)))
    return 'an instruction of the multisig program is not part of a batch';
  if (name !== 'batchExecuteTransaction') return [];
  // Positions of the accounts: squads-v4.md, section 7.
  const [multisig, , , batch, transaction] = accounts.map(({ address }) => address);
  const past =
    multisig === undefined || batch === undefined ? null : await pastOfBatch(landed, multisig, batch);
  const found = past?.transactions.findIndex(({ address }) => address === transaction) ?? -1;
  if (past == null || past.executions[found]?.signature !== landed.record.signature)
    return 'the RPC node lacks the full history of the batch';
  return past.transactions[found]?.decoded ?? [];
}

/** A batch is searched by its address among this many of the newest batches. */
const MAX_TRIED = 10_000n;

async function pastOfBatch(
  { chain }: LandedTransaction,
  multisig: Address,
  batch: Address,
): Promise<PastDescription | null> {
  const newest = (await readMultisig(chain, multisig)).value?.transactionIndex ?? 0n;
  for (let batchIndex = newest; batchIndex > 0n && batchIndex > newest - MAX_TRIED; batchIndex -= 1n)
    if (transactionAddress(multisig, batchIndex).address === batch)
      return readPastContent(chain, { multisig, batchIndex });
  return null;
}

const proofOf = (one: DecodedInstruction): string | undefined =>
  isMemo(one) ? parseProofMemo(one.text)?.hash : undefined;

/** A proof covers the instructions from its memo to the next memo; a single memo covers the whole transaction. */
function sectionsOf(sequence: Sequence, hash: string): Sequence {
  const proofs = sequence.flatMap((one) => proofOf(one) ?? []);
  if (proofs.length === 1) return proofs[0] === hash ? sequence : [];
  let current: string | undefined;
  return sequence.filter((one) => {
    current = proofOf(one) ?? current;
    return current === hash;
  });
}

export interface MovedTokens {
  readonly mint: Address;
  readonly tokenProgram: Address;
  readonly decimals: number;
  readonly burned: bigint;
  readonly received: ReadonlyMap<Address, bigint>;
}

const add = (sums: Map<Address, bigint>, account: Address, amount: bigint): void =>
  void sums.set(account, (sums.get(account) ?? 0n) + amount);

export function movedBy(decoded: readonly DecodedInstruction[]): readonly MovedTokens[] {
  const found = new Map<Address, MovedTokens & { readonly received: Map<Address, bigint> }>();
  for (const one of decoded) {
    if (one.kind !== 'burn' && one.kind !== 'transfer') continue;
    const { mint, tokenProgram, decimals, amount } = one;
    const before = found.get(mint) ?? { mint, tokenProgram, decimals, burned: 0n, received: new Map() };
    if (one.kind === 'transfer') add(before.received, one.to, amount);
    found.set(mint, { ...before, burned: before.burned + (one.kind === 'burn' ? amount : 0n) });
  }
  return [...found.values()];
}

export function expectedOf(
  actions: readonly SourceAction[],
  { mint, tokenProgram, decimals }: Pick<MovedTokens, 'mint' | 'tokenProgram' | 'decimals'>,
): MovedTokens {
  const received = new Map<Address, bigint>();
  let burned = 0n;
  for (const action of actions.map((one): PipelineAction => actionContent(one, decimals))) {
    burned += totalOf('burn', [action]);
    for (const recipient of actionRecipients(action))
      add(received, associatedTokenAddress(recipient, mint, tokenProgram), totalOf('airdrop', [action]));
  }
  return { mint, tokenProgram, decimals, burned, received };
}

export function movedDifferences(actual: MovedTokens, expected: MovedTokens): readonly string[] {
  const sums = ({ burned, received }: MovedTokens) =>
    new Map([
      ['burned', burned],
      ...[...received].map(([account, amount]) => [`sent to the token account ${account}`, amount] as const),
    ]);
  const [found, wanted] = [sums(actual), sums(expected)];
  return [...new Set([...found.keys(), ...wanted.keys()])].flatMap((what) => {
    const [is, due] = [found.get(what) ?? 0n, wanted.get(what) ?? 0n];
    return is === due ? [] : [`${what} were ${is} base units, expected ${due}`];
  });
}

/** Compares the balances before and after a transaction with its instructions. A fee may be withheld from transfers. */
export function balanceDifferences(
  changes: readonly TokenChange[],
  decoded: readonly DecodedInstruction[],
  mint: Address,
  feeCharged: boolean,
): readonly string[] {
  const due = new Map<Address, bigint>();
  const received = new Set<Address>();
  for (const one of decoded) {
    if (!('mint' in one) || one.mint !== mint) continue;
    if (one.kind === 'burn') add(due, one.account, -one.amount);
    if (one.kind !== 'transfer') continue;
    add(due, one.from, -one.amount);
    add(due, one.to, one.amount);
    received.add(one.to);
  }
  for (const { account, mint: of, before, after } of changes)
    if (of === mint) add(due, account, (before ?? 0n) - after);
  return [...due].flatMap(([account, missing]) =>
    missing === 0n || (feeCharged && received.has(account) && missing > 0n)
      ? []
      : [`the token account ${account} changed by ${-missing} base units more than its instructions say`],
  );
}
