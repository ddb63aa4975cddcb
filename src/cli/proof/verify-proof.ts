/** `proof verify`: finds a proof in a landed transaction and compares what moved with a file or option, without the service. */
import { isSourceAction, type SourceAction } from '../../actions/registry.js';
import type { Pins } from '../../approval/pins.js';
import { type ChainReader, dateLanded } from '../../chain/chain.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { isJsonObject, type JsonValue } from '../../values/canonical-json.js';
import { proofHash, type Sha256 } from '../../values/digest.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { isFeeCharged } from '../batch/inspect-batch.js';
import { requireReadable } from '../batch/pins.js';
import type { OpenedService } from '../context.js';
import { readAmountText } from '../input/amount.js';
import { readBurnsFile } from '../input/burns-file.js';
import { readPipelinesFile } from '../input/pipelines-file.js';
import { toSourcePipelines } from '../input/pipelines-plan.js';
import { inputError, type NamedText, textInput } from '../input/read-input.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines } from '../output/table.js';
import { countedFromOne, grouped } from '../views/unit.js';
import {
  balanceDifferences,
  expectedOf,
  type LandedTransaction,
  type MovedTokens,
  movedBy,
  movedDifferences,
  proofMemos,
  readMoved,
  type Told,
} from './moved-tokens.js';

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
 * @throws `ERR_NOT_FOUND` if not landed, `ERR_INVALID_PROOF` without the hash, `ERR_NOT_VERIFIED` if amounts differ or are
 * unknown.
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
    throw new FlywheelError('ERR_INVALID_PROOF', `Transaction ${tx} failed on chain.`);
  const memo = proofMemos(wire, record.logs).find((found) => found.hash === hash);
  if (memo === undefined)
    throw new FlywheelError('ERR_INVALID_PROOF', `Transaction ${tx} has no memo with the hash ${hash}.`);
  const landed = { chain, wire, record };
  const told = await readMoved(landed, hash);
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

type ProofMemo = ReturnType<typeof proofMemos>[number];

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
  const isMoving = actions.some((action) => 'amount' in action);
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
  { all }: Exclude<Told, { readonly untold: string }>,
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
