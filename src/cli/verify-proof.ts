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
import { type ChainReader, dateLanded, type TokenChange, type TransactionRecord } from '../chain/chain.js';
import { COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM, SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.js';
import { associatedTokenAddress, transactionAddress } from '../chain/squads/addresses.js';
import { instructionName } from '../chain/squads/instructions.js';
import { readMultisig } from '../chain/squads/read-accounts.js';
import { type Call, callsIn, type Instruction } from '../chain/transaction/message.js';
import { decodeTransaction } from '../chain/transaction/wire.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { isJsonObject, type JsonValue } from '../values/canonical-json.js';
import { proofHash, type Sha256 } from '../values/digest.js';
import { parseStrictJson } from '../values/strict-json.js';
import { formatTokenAmount, grouped } from '../values/token-amount.js';
import { isFeeCharged } from './batch/inspect-batch.js';
import { requireReadable } from './batch/pins.js';
import type { OpenedService } from './context.js';
import { readAmountText } from './input/amount.js';
import { readBurnsFile } from './input/burns-file.js';
import { readPipelinesFile } from './input/pipelines-file.js';
import { toSourcePipelines } from './input/pipelines-plan.js';
import { inputError, type NamedText, textInput } from './input/read-input.js';
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
  try {
    const value: JsonValue = parseStrictJson(text).value;
    const list = isJsonObject(value) ? value['pipelines'] : value;
    return Array.isArray(list) && isJsonObject(list[0]) && 'actions' in list[0];
  } catch {
    // NDJSON is not JSON as a whole.
    return false;
  }
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

/**
 * @throws `ERR_NOT_FOUND` if not landed, `ERR_NOT_VERIFIED` if it failed, has no such hash, or amounts differ or are unknown.
 */
export async function verifyProof(opened: Pick<OpenedService, 'chain'>, question: ProofQuestion) {
  const value = await verified(requireReadable(opened, 'nothing can be verified'), question);
  return { value, view: (style: Style) => viewOf(value, question.pins, style) };
}

type ProofVerified = Awaited<ReturnType<typeof verified>>;

async function verified(chain: ChainReader, { tx, hash, candidates, pins }: ProofQuestion) {
  const [record] = await chain.lookUp([tx]);
  const wire = record?.wire ?? null;
  if (record == null || wire === null)
    throw new FlywheelError('ERR_NOT_FOUND', `Transaction ${tx} was not found on chain.`);
  if (record.error !== null)
    throw new FlywheelError('ERR_NOT_VERIFIED', `Transaction ${tx} failed on chain.`);
  const landed = { chain, wire, record };
  const read = await readMoved(landed);
  const memo = proofMemos(landed, read).find((found) => found.hash === hash);
  if (memo === undefined)
    throw new FlywheelError('ERR_NOT_VERIFIED', `Transaction ${tx} has no memo with the hash ${hash}.`, {
      hint: 'Check the transaction and the proof. A single burn records its proof only with --persist-onchain.',
    });
  const told = toldOf(read, hash);
  const moved = 'untold' in told ? null : mintOf(movedBy(told.ofProof), tx, pins);
  const held = candidates === null ? null : holdCandidates(candidates, memo, told, moved, tx);
  const date = dateLanded(record);
  return {
    ...{ verified: true, txHash: record.signature, hash, type: memo.type, slot: String(record.slot) },
    ...(date !== undefined && { dateLanded: date }),
    amounts: amountsOf(told, held),
    ...('untold' in told && { untold: told.untold }),
    ...(held?.place != null && { entry: held.place }),
    moved: moved && {
      mint: moved.mint,
      burned: amountOf(moved.burned, moved),
      sent: [...moved.received].map(([account, amount]) => ({ account, ...amountOf(amount, moved) })),
    },
    balances: 'untold' in told ? 'not kept' : await holdBalances(landed, told, moved?.mint ?? null, tx),
  };
}

/** `not compared`: no expectation was given; `not told`: only the hash is verified. */
const amountsOf = (told: Told, held: Candidate | null): 'agree' | 'not compared' | 'not told' =>
  'untold' in told ? 'not told' : held === null ? 'not compared' : 'agree';

const notVerified = (tx: string, reason: string): FlywheelError =>
  new FlywheelError('ERR_NOT_VERIFIED', `Transaction ${tx} is not verified: ${reason}.`);

/** The one mint that was moved; it must be the project's if that is pinned. */
function mintOf(moved: readonly MovedTokens[], tx: string, pins: Pins | null): MovedTokens | null {
  const [first, second] = moved;
  const stranger = moved.find(({ mint }) => pins !== null && mint !== pins.mint);
  const own = `but the mint of the project is ${pins?.mint}`;
  if (stranger !== undefined) throw notVerified(tx, `it moves tokens of the mint ${stranger.mint}, ${own}`);
  if (first !== undefined && second !== undefined)
    throw notVerified(tx, `it moves tokens of several mints, ${first.mint} and ${second.mint}`);
  return first ?? null;
}

/** Finds the matching candidate. @throws `ERR_NOT_VERIFIED` with the difference to the first one. */
function holdCandidates(
  candidates: readonly Candidate[],
  memo: ProofMemo,
  told: Told,
  moved: MovedTokens | null,
  tx: string,
): Candidate {
  if ('untold' in told) throw notVerified(tx, `its amounts cannot be decoded: ${told.untold}`);
  const judged = candidates.map((candidate) => candidateDifferences(candidate, memo, moved));
  const found = candidates.find((_, at) => judged[at]?.length === 0);
  if (found !== undefined) return found;
  const place = candidates[0]?.place ?? null;
  throw notVerified(tx, `${place === null ? '' : `by ${place}, `}${judged[0]?.join('; ') ?? ''}`);
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
    return [...otherType, ...movedDifferences(moved, expectedOf(actions, moved))];
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    return [...otherType, error.message.replace(/\.$/, '')];
  }
}

/** The balances of the node, if stored, must confirm the whole transaction. */
async function holdBalances(
  { chain, record }: LandedTransaction,
  { all }: Exclude<Told, Untold>,
  mint: Address | null,
  tx: string,
): Promise<'agree' | 'not kept'> {
  const { tokenChanges } = record;
  if (tokenChanges === undefined || mint === null) return 'not kept';
  const found = balanceDifferences(tokenChanges, all, mint, await isFeeCharged(chain, mint));
  if (found.length > 0) throw notVerified(tx, found.join('; '));
  return 'agree';
}

const amountOf = (baseUnits: bigint, { decimals }: MovedTokens) => ({
  amount: formatTokenAmount(baseUnits, decimals),
  baseUnits: String(baseUnits),
});

const amountText = ({ amount, baseUnits }: ReturnType<typeof amountOf>): string =>
  `${grouped(amount)} tokens (${baseUnits} base units)`;

function viewOf(value: ProofVerified, pins: Pins | null, style: Style): readonly string[] {
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
    AMOUNTS[value.amounts](value),
    ...fieldLines(fields, style),
  ];
}

const AMOUNTS: Readonly<Record<ProofVerified['amounts'], (value: ProofVerified) => string>> = {
  agree: ({ entry }) =>
    entry === undefined
      ? 'The burned amount matches --amount.'
      : `Amounts and recipients match ${countedFromOne(entry)} of the file.`,
  'not compared': () => 'Amounts were not compared. Add --amount or --expect to compare them.',
  'not told': ({ untold }) => `Amounts cannot be decoded: ${untold}. Only the hash is verified.`,
};

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
function proofMemos({ wire, record }: LandedTransaction, read: Read): readonly ProofMemo[] {
  const calls = [...callsIn(decodeTransaction(wire).message), ...(record.innerCalls ?? [])];
  const own = calls.flatMap(({ program, data }) =>
    program === MEMO_PROGRAM ? Buffer.from(data).toString('utf8') : [],
  );
  const executed =
    'untold' in read ? [] : read.sequences.flat().flatMap((one) => (isMemo(one) ? one.text : []));
  return [...own, ...executed].flatMap((text) => parseProofMemo(text) ?? []);
}

type Sequence = readonly DecodedInstruction[];

/** The reason, without a full stop. */
interface Untold {
  readonly untold: string;
}

type Read = { readonly sequences: readonly Sequence[] } | Untold;
type Told = { readonly ofProof: Sequence; readonly all: Sequence } | Untold;

interface LandedTransaction {
  readonly chain: ChainReader;
  readonly wire: Uint8Array;
  readonly record: TransactionRecord;
}

async function readMoved(landed: LandedTransaction): Promise<Read> {
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
  return { sequences };
}

function toldOf(read: Read, hash: string): Told {
  if ('untold' in read) return read;
  const all = read.sequences.flat();
  const unknown = all.find((one) => one.kind === 'unknown');
  if (unknown?.kind === 'unknown') return { untold: `unknown instruction of the program ${unknown.program}` };
  return { ofProof: read.sequences.flatMap((sequence) => sectionsOf(sequence, hash)), all };
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

interface MovedTokens {
  readonly mint: Address;
  readonly tokenProgram: Address;
  readonly decimals: number;
  readonly burned: bigint;
  readonly received: ReadonlyMap<Address, bigint>;
}

const add = (sums: Map<Address, bigint>, account: Address, amount: bigint): void =>
  void sums.set(account, (sums.get(account) ?? 0n) + amount);

function movedBy(decoded: readonly DecodedInstruction[]): readonly MovedTokens[] {
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

function expectedOf(
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

function movedDifferences(actual: MovedTokens, expected: MovedTokens): readonly string[] {
  const sums = ({ burned, received }: MovedTokens) =>
    new Map([
      ['burned', burned],
      ...[...received].map(([account, amount]) => [`sent to the token account ${account}`, amount] as const),
    ]);
  const [found, wanted] = [sums(actual), sums(expected)];
  return [...new Set([...found.keys(), ...wanted.keys()])].flatMap((what) => {
    const [is, due] = [found.get(what) ?? 0n, wanted.get(what) ?? 0n];
    if (is === due) return [];
    const [shown, wants] = [is, due].map((one) => grouped(formatTokenAmount(one, expected.decimals)));
    return [`${shown} tokens were ${what}, expected ${wants}`];
  });
}

/** Compares the balances before and after a transaction with its instructions. A fee may be withheld from transfers. */
function balanceDifferences(
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
