/**
 * `proof verify`: finds a proof in a landed transaction and compares what moved with a file or option, without the service. What moved is
 * read from memos, instructions, executed batches and balances.
 */
import { isMemo } from '../actions/memo.js';
import {
  actionContent,
  actionRecipients,
  type DecodedInstruction,
  describeInstruction,
  isSourceAction,
  type PipelineAction,
  type SourceAction,
  totalOf,
  usageOf,
} from '../actions/registry.js';
import { type PastDescription, readPastContent } from '../approval/batch-content.js';
import type { Pins } from '../approval/pins.js';
import { type ChainReader, dateLanded, type TransactionRecord } from '../chain/chain.js';
import { COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM, SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.js';
import { associatedTokenAddress, transactionAddress } from '../chain/squads/addresses.js';
import { instructionName } from '../chain/squads/instructions.js';
import { readMultisig } from '../chain/squads/read-accounts.js';
import { type Call, callsIn, type Instruction } from '../chain/transaction/message.js';
import { decodeTransaction } from '../chain/transaction/wire.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { proofHash, type Sha256 } from '../values/digest.js';
import { formatTokenAmount, grouped } from '../values/token-amount.js';
import { isFeeCharged } from './batch/inspect-batch.js';
import { requireReadable } from './batch/pins.js';
import type { OpenedService } from './context.js';
import { readAmountText } from './input/amount.js';
import { readBurnsFile } from './input/burns-file.js';
import { readPipelinesFile } from './input/pipelines-file.js';
import { toSourcePipelines } from './input/pipelines-plan.js';
import { inputError, isKind, type NamedText, textInput, wholeJson } from './input/read-input.js';
import type { Style } from './output/color.js';
import { type Field, fieldLines } from './output/table.js';
import { countedFromOne } from './views/unit.js';

/** One acceptable result; a file may contain the same proof more than once. */
interface Candidate {
  /** Completes "it was done as"; `null`: from an option. */
  readonly place: string | null;
  readonly type: string | null;
  readonly actions: readonly SourceAction[];
}

/** @param text - whole tokens. @throws `ERR_INPUT_INVALID` */
export function burnOfAmount(text: string): Candidate {
  const amount = readAmountText(text);
  if ('problem' in amount) throw inputError('--amount', amount.problem);
  return { place: null, type: null, actions: [{ action: 'BURN', amount: amount.value }] };
}

/** The entries with this proof in a burns file or pipelines file. @throws `ERR_INPUT_INVALID` without an entry. */
export async function entriesOf(file: NamedText, hash: Sha256): Promise<readonly Candidate[]> {
  const all = isPipelines(file) ? await pipelinesIn(file) : await burnsIn(file);
  const found = all.filter((entry) => entry.hash === hash);
  if (found.length > 0) return found;
  throw new FlywheelError('ERR_INPUT_INVALID', `${file.name} has no entry with the proof hash ${hash}.`);
}

type Entry = Candidate & { readonly hash: Sha256 };

/** In the header of a pipelines table; a burns table has no such column. */
const ACTION_COLUMN = /(?:^|[,;\t"])action(?:[,;\t"]|$)/;

function isPipelines({ name, text }: NamedText): boolean {
  if (textInput({ name, text }).format === 'csv') return ACTION_COLUMN.test(text.split(/[\r\n]/, 1)[0] ?? '');
  const value = wholeJson(text);
  return value !== undefined && isKind('a pipelines file', value);
}

const pipelinesIn = async (file: NamedText): Promise<readonly Entry[]> =>
  toSourcePipelines(readPipelinesFile(textInput(file), null).pipelines).map(
    ({ type, proofHash: hash, actions }, at) => ({
      ...{ place: `pipelines[${at}]`, type, hash },
      actions: actions.filter(isSourceAction),
    }),
  );

const burnsIn = async (file: NamedText): Promise<readonly Entry[]> =>
  readBurnsFile(textInput(file), null).map(({ type, proof, burnAmount: amount }, at) => ({
    ...{ place: `[${at}]`, type, hash: proofHash(proof) },
    actions: [{ action: 'BURN', amount }],
  }));

interface ProofQuestion {
  readonly tx: string;
  readonly hash: Sha256;
  /** `null`: no expectation was given. */
  readonly candidates: readonly Candidate[] | null;
  readonly pins: Pins | null;
}

type ProofVerified = Awaited<ReturnType<typeof verifyProof>>;

/**
 * @throws `ERR_NOT_FOUND` if not landed, `ERR_NOT_VERIFIED` if it failed, has no such hash, or amounts differ or are unknown.
 */
export async function verifyProof(opened: Pick<OpenedService, 'chain'>, question: ProofQuestion) {
  const { tx, hash, candidates, pins } = question;
  const landed = await lookUp(requireReadable(opened, 'nothing can be verified'), tx);
  const { record } = landed;
  const { sequences, untold } = await readMoved(landed);
  const memo = proofMemos(landed, sequences).find((found) => found.hash === hash);
  if (memo === undefined)
    throw new FlywheelError('ERR_NOT_VERIFIED', `Transaction ${tx} has no memo with the hash ${hash}.`, {
      hint: 'Check the transaction and the proof. A single burn records its proof only with --persist-onchain.',
    });
  const refuse = (reason: string): never => {
    throw new FlywheelError('ERR_NOT_VERIFIED', `Transaction ${tx} is not verified: ${reason}.`);
  };
  if (untold !== undefined && candidates !== null) refuse(`its amounts cannot be decoded: ${untold}`);
  const ofProof = sequences.flatMap((sequence) => sectionsOf(sequence, hash));
  const moved = untold === undefined ? movedBy(ofProof, pins, refuse) : null;
  const held = candidates && matching(candidates, memo, moved, refuse);
  return {
    ...{ verified: true, txHash: record.signature, hash, type: memo.type, slot: String(record.slot) },
    dateLanded: dateLanded(record),
    amounts: untold !== undefined ? 'not told' : held === null ? 'not compared' : 'agree',
    untold,
    entry: held?.place ?? undefined,
    moved: moved && {
      mint: moved.mint,
      burned: amountOf(moved.sums.get(BURNED) ?? 0n, moved),
      sent: [...moved.sums].flatMap(([account, amount]) =>
        account === BURNED ? [] : { account, ...amountOf(amount, moved) },
      ),
    },
    balances: moved === null ? 'not kept' : await holdBalances(landed, sequences.flat(), moved.mint, refuse),
  };
}

type Refuse = (reason: string) => never;

async function lookUp(chain: ChainReader, tx: string): Promise<LandedTransaction> {
  const [record] = await chain.lookUp([tx]);
  if (record == null) throw new FlywheelError('ERR_NOT_FOUND', `Transaction ${tx} was not found on chain.`);
  if (record.wire === null)
    throw new FlywheelError('ERR_NOT_VERIFIED', `Transaction ${tx} landed, but the node lacks its details.`, {
      hint: 'Use an RPC node with more history: --rpc-url.',
    });
  if (record.error === null) return { chain, wire: record.wire, record };
  throw new FlywheelError('ERR_NOT_VERIFIED', `Transaction ${tx} failed on chain.`);
}

/** @throws `ERR_NOT_VERIFIED` with the difference to the first candidate. */
function matching(
  candidates: readonly Candidate[],
  memo: ProofMemo,
  moved: MovedTokens | null,
  refuse: Refuse,
): Candidate {
  const judged = candidates.map((candidate) => candidateDifferences(candidate, memo, moved));
  const found = candidates.find((_, at) => judged[at]?.length === 0);
  const place = candidates[0]?.place ?? null;
  return found ?? refuse(`${place === null ? '' : `by ${place}, `}${judged[0]?.join('; ') ?? ''}`);
}

function candidateDifferences(
  { type, actions }: Candidate,
  memo: ProofMemo,
  moved: MovedTokens | null,
): readonly string[] {
  const otherType =
    type !== null && type !== memo.type ? [`the proof type is ${memo.type}, expected ${type}`] : [];
  const isMoving = actions.some((action) => usageOf(action) !== null);
  if (moved === null) return isMoving ? [...otherType, 'no tokens were moved for this proof'] : otherType;
  try {
    return [...otherType, ...movedDifferences(moved, actions)];
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    return [...otherType, error.message.replace(/\.$/, '')];
  }
}

const amountOf = (baseUnits: bigint, { decimals }: MovedTokens) => ({
  amount: formatTokenAmount(baseUnits, decimals),
  baseUnits: String(baseUnits),
});

const amountText = ({ amount, baseUnits }: ReturnType<typeof amountOf>): string =>
  `${grouped(amount)} tokens (${baseUnits} base units)`;

export function viewProof(value: ProofVerified, pins: Pins | null, style: Style): readonly string[] {
  const { moved } = value;
  const fields: readonly Field[] = [
    ['transaction', value.txHash],
    ['proof hash', value.hash],
    ['proof type', value.type],
    ['mint', moved && `${moved.mint}${pins === null ? ' (not compared: no project is pinned)' : ''}`],
    ['burned', moved && amountText(moved.burned)],
    ...(moved?.sent ?? []).flatMap((one): readonly Field[] => [
      ['sent to account', one.account],
      ['', amountText(one)],
    ]),
    ['slot', value.slot],
    ['landed', value.dateLanded ?? 'at an unknown time'],
  ];
  return [
    style.good('Verified: the transaction has the hash of this proof.'),
    amountsText(value),
    ...fieldLines(fields, style),
  ];
}

function amountsText({ amounts, entry, untold }: ProofVerified): string {
  if (untold !== undefined) return `Amounts cannot be decoded: ${untold}. Only the hash is verified.`;
  if (amounts === 'not compared')
    return 'Amounts were not compared. Add --amount or --expect to compare them.';
  return entry === undefined
    ? 'The burned amount matches --amount.'
    : `Amounts and recipients match ${countedFromOne(entry)} of the file.`;
}

interface ProofMemo {
  readonly type: string;
  readonly hash: string;
}

function parseProofMemo(text: string): ProofMemo | undefined {
  try {
    const { type, hash } = JSON.parse(text) as Partial<Record<string, unknown>>;
    return typeof type === 'string' && typeof hash === 'string' ? { type, hash } : undefined;
  } catch {
    return undefined;
  }
}

/** Of its own instructions, of inner calls that the node reports, and of the batch that it executed. */
function proofMemos({ wire, record }: LandedTransaction, sequences: Read['sequences']): readonly ProofMemo[] {
  const calls = [...callsIn(decodeTransaction(wire).message), ...(record.innerCalls ?? [])];
  const own = calls.flatMap(({ program, data }) =>
    program === MEMO_PROGRAM ? Buffer.from(data).toString('utf8') : [],
  );
  const executed = sequences.flat().flatMap((one) => (isMemo(one) ? one.text : []));
  return [...own, ...executed].flatMap((text) => parseProofMemo(text) ?? []);
}

type Sequence = readonly DecodedInstruction[];

interface Read {
  readonly sequences: readonly Sequence[];
  /** Why they are not all that was moved, without a full stop. */
  readonly untold?: string;
}

interface LandedTransaction {
  readonly chain: ChainReader;
  readonly wire: Uint8Array;
  readonly record: TransactionRecord;
}

async function readMoved(landed: LandedTransaction): Promise<Read> {
  const instructions = ownInstructions(landed);
  if (instructions === undefined)
    return {
      sequences: [],
      untold: 'the transaction uses a lookup table whose accounts the RPC node does not return',
    };
  const own: DecodedInstruction[] = [];
  const sequences: Sequence[] = [own];
  for (const instruction of [...instructions, ...innerCallsOf(landed)]) {
    if (MOVES_NO_TOKENS.has(instruction.program)) continue;
    if (instruction.program !== SQUADS_PROGRAM) {
      own.push(describeInstruction(instruction));
      continue;
    }
    const executed = await executedBy(landed, instruction);
    if (typeof executed === 'string') return { sequences, untold: executed };
    sequences.push(executed);
  }
  const unknown = sequences.flat().find((one) => one.kind === 'unknown');
  return unknown?.kind === 'unknown'
    ? { sequences, untold: `unknown instruction of the program ${unknown.program}` }
    : { sequences };
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

interface MovedTokens extends Pick<DecodedMove, 'mint' | 'tokenProgram' | 'decimals'> {
  /** By receiving account, and {@link BURNED}. */
  readonly sums: ReadonlyMap<Address | typeof BURNED, bigint>;
}

type DecodedMove = Extract<DecodedInstruction, { readonly kind: 'burn' | 'transfer' }>;

const BURNED = 'burned';

const add = <Key>(sums: Map<Key, bigint>, key: Key, amount: bigint): void =>
  void sums.set(key, (sums.get(key) ?? 0n) + amount);

/** Of the one mint, which must be the project's if that is pinned; `null`: no tokens were moved. */
function movedBy(decoded: Sequence, pins: Pins | null, refuse: Refuse): MovedTokens | null {
  const moves = decoded.filter((one) => one.kind === 'burn' || one.kind === 'transfer');
  const [first] = moves;
  if (first === undefined) return null;
  const { mint, tokenProgram, decimals } = first;
  const stranger = moves.find((one) => pins !== null && one.mint !== pins.mint)?.mint;
  if (stranger !== undefined)
    refuse(`it moves tokens of the mint ${stranger}, but the mint of the project is ${pins?.mint}`);
  const other = moves.find((one) => one.mint !== mint)?.mint;
  if (other !== undefined) refuse(`it moves tokens of several mints, ${mint} and ${other}`);
  const sums = new Map<Address | typeof BURNED, bigint>();
  for (const one of moves) {
    // What an account sends to itself moves nothing.
    if (one.kind === 'burn') add(sums, BURNED, one.amount);
    else if (one.from !== one.to) add(sums, one.to, one.amount);
  }
  return { mint, tokenProgram, decimals, sums };
}

/** @throws `ERR_INVALID_REQUEST` for an amount finer than the token */
function movedDifferences(
  { mint, tokenProgram, decimals, sums }: MovedTokens,
  actions: readonly SourceAction[],
): readonly string[] {
  const wanted = new Map<Address | typeof BURNED, bigint>();
  for (const action of actions.map((one): PipelineAction => actionContent(one, decimals))) {
    add(wanted, BURNED, totalOf('burn', [action]));
    for (const recipient of actionRecipients(action)) {
      const account = associatedTokenAddress(recipient, mint, tokenProgram);
      add(wanted, account, totalOf('airdrop', [action]));
    }
  }
  return [...new Set([...sums.keys(), ...wanted.keys()])].flatMap((key) => {
    const [is, due] = [sums.get(key) ?? 0n, wanted.get(key) ?? 0n];
    const [shown, wants] = [is, due].map((one) => grouped(formatTokenAmount(one, decimals)));
    const what = key === BURNED ? key : `sent to the token account ${key}`;
    return is === due ? [] : [`${shown} tokens were ${what}, expected ${wants}`];
  });
}

/**
 * The balances of the node, if stored, must confirm the instructions of the whole transaction. A fee may be withheld from
 * transfers.
 */
async function holdBalances(
  { chain, record: { tokenChanges } }: LandedTransaction,
  all: Sequence,
  mint: Address,
  refuse: Refuse,
): Promise<'agree' | 'not kept'> {
  if (tokenChanges === undefined) return 'not kept';
  const isCharged = await isFeeCharged(chain, mint);
  const due = new Map<Address, bigint>();
  const received = new Set<Address>();
  for (const one of all) {
    if (!('mint' in one) || one.mint !== mint) continue;
    if (one.kind === 'burn') add(due, one.account, -one.amount);
    if (one.kind !== 'transfer') continue;
    add(due, one.from, -one.amount);
    add(due, one.to, one.amount);
    received.add(one.to);
  }
  for (const { account, mint: of, before, after } of tokenChanges)
    if (of === mint) add(due, account, (before ?? 0n) - after);
  const found = [...due].flatMap(([account, missing]) =>
    missing === 0n || (isCharged && received.has(account) && missing > 0n)
      ? []
      : `the token account ${account} changed by ${-missing} base units more than its instructions say`,
  );
  return found.length === 0 ? 'agree' : refuse(found.join('; '));
}
