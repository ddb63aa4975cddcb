/** Checks a batch against the limits and earlier approvals: before the question, and in the write that records the approval. */
import type { PipelineContent } from '../../actions/pipelines.js';
import type { BatchContent } from '../../approval/batch-content.js';
import {
  type Asked,
  type KnownAddress,
  type LookAlike,
  lookAlikes,
  needsDigest,
  outflowOf,
  requireWithinDay,
  requireWithinLimits,
} from '../../approval/limits.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { Flywheel } from '../../chain/flywheel.js';
import type { Settings } from '../../compose/settings.js';
import type { Batch } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Session } from '../command.js';
import { cancelLine } from '../hints.js';
import type { ApprovalRecord, Known, PaidProof, Standing } from '../journal/approval-record.js';
import type { Entry } from '../journal/journal.js';
import { typedLine } from '../operation/resume-line.js';
import { contentAlarms, lookAlikeText, twiceText } from '../views/approval.js';
import { batchStages } from './batch-stages.js';
import { isSetUp } from './chain-agrees.js';
import { refuse } from './pins.js';
import type { Review } from './review.js';

export interface Earlier {
  readonly alarms: readonly string[];
  readonly news: readonly string[];
  /** Recipients that no executed batch paid; `null`: no other approval on this machine. */
  readonly strangers: ReadonlySet<Address> | null;
  readonly paid: readonly PaidProof[];
  readonly alike: readonly LookAlike[];
}

/** A batch within all limits. */
export interface HeldApproval extends Earlier {
  readonly typed: string | null;
  /** Checks again and records the approval. Call this before the signature is handed out. */
  signed(): void;
}

/** Consent to pay proofs again, and what is no repeat. */
export interface Repeat {
  readonly again: boolean;
  /** Also proofs that were paid with another amount or recipient. */
  readonly allowChanged: boolean;
  /** Batches of the same operation. */
  readonly own: readonly string[];
  /** The batch of the same file at the service; asked only when a proof was paid before. */
  readonly setUp?: () => Promise<string | undefined>;
  readonly hint: string;
}

/** Adds the consent with which the batch's operation was started. */
export const repeatOf = (
  entry: Entry | undefined,
  { again = false, allowChanged = false, ...repeat }: Partial<Repeat> & Pick<Repeat, 'hint'>,
): Repeat => ({
  again: again || entry?.notes['again'] !== undefined,
  allowChanged: allowChanged || entry?.notes['allowChanged'] === true,
  own: entry === undefined ? [] : batchStages(entry.notes).flatMap(({ batchId }) => batchId ?? []),
  ...repeat,
});

export async function repeatBy(
  session: Session,
  batchId: string,
  { again = false }: { readonly again?: boolean },
): Promise<Repeat> {
  const journal = await (await session.service()).journal();
  return repeatOf(journal.ofBatch(batchId), { again, hint: againHint(session) });
}

export function againHint({ commandLine: typed, settings }: Session): string {
  const lookUp = 'Look the batch up first. To pay';
  // With --again the command would also repeat what has landed of the file.
  if (typed.includes('--rest')) return `${lookUp} again, put them into a new file and run it with --again.`;
  const words = typed.filter(
    (word, at) =>
      !/^--(?:again|idempotency-key(?:=.*)?)$/s.test(word) && typed[at - 1] !== '--idempotency-key',
  );
  return `${lookUp} again: ${typedLine(settings, ...words, '--again')}`;
}

/** `--yes` is no consent to a second payment. @throws `ERR_INPUT_INVALID` */
export function requireUnpaid(
  session: Session,
  { paid }: Pick<Earlier, 'paid'>,
  pipelines: readonly PipelineContent[],
  { again, allowChanged, hint }: Repeat,
  nothing = 'Nothing was sent.',
): void {
  const twice = paid.filter(({ isSame }) => isSame || !allowChanged);
  if (!session.settings.yes || again || twice.length === 0) return;
  // Only this machine's own commands note that a batch is over.
  const waiting = twice.find(({ isExecuted }) => !isExecuted)?.batchId;
  throw new FlywheelError('ERR_INPUT_INVALID', `${twiceText(twice, pipelines.length)} ${nothing}`, {
    hint: `${waiting === undefined ? '' : `If batch ${waiting} was cancelled, note it here: ${cancelLine(session, waiting)}. `}${hint}`,
  });
}

const TYPED_DIGEST_LENGTH = 8;

export const TYPE_DIGEST = `Large batch. To approve, type the ${TYPED_DIGEST_LENGTH} characters that follow "sha256:" above`;

/** @param used - `null`: the daily limits are not checked. @throws `ERR_APPROVAL_REFUSED` */
function requireWithin(
  { limits, profile }: Settings,
  asked: Asked,
  used: Parameters<typeof requireWithinDay>[2] | null,
): void {
  for (const { value, source } of limits) {
    const whose = source === 'flag' ? 'the file of --pins' : `the profile ${profile.value}`;
    requireWithinLimits(value, asked, whose);
    if (used !== null) requireWithinDay(value, asked, used, whose);
  }
}

const recordOf = async (session: Session): Promise<ApprovalRecord> =>
  (await (await session.service()).journal()).approvals;

/** Index of the newest batch on the embedded ledger; `null` on a cluster, whose nodes may hide some. */
async function newestBatch(session: Session, multisig: Address): Promise<bigint | null> {
  const { isOnThisMachine, chain } = await session.service();
  if (!isOnThisMachine || chain === null) return null;
  return (await readMultisigAccount(chain, multisig)).transactionIndex;
}

/** Of a file that is no batch yet. */
export const PLANNED = { batchIndex: null, digest: null } as const;

/** Findings from earlier approvals about a batch, or about a file without index and digest. */
export async function earlierOf(
  session: Session,
  flywheel: Flywheel,
  batch: Pick<BatchContent, 'digest'> & {
    readonly pipelines: readonly PipelineContent[];
    readonly batchIndex: bigint | null;
  },
  { own, setUp }: Pick<Repeat, 'own' | 'setUp'> = { own: [] },
): Promise<Earlier> {
  const { multisig, mint } = flywheel;
  const newest = await newestBatch(session, multisig);
  const record = await recordOf(session);
  const knownBut = (own: readonly string[]) => record.known({ ...batch, multisig, mint, newest, own });
  let known = knownBut(own);
  const id = known.paid.length === 0 ? undefined : await setUp?.();
  if (id !== undefined) known = knownBut([...own, id]);
  return comparedWith(known, batch.pipelines, flywheel, (await session.service()).symbol);
}

/** Notes how many transactions of a batch were executed. Only warnings depend on it, so a failed write is only a warning. */
export async function noteExecuted(session: Session, batch: Batch): Promise<void> {
  const { pins, kind, chain } = await session.service();
  if (pins === null || session.isDryRun === true) return;
  const { id, batchIndex, executeResult, status, dateCancelled } = batch;
  // What was approved was set up. A batch said to be over before that was not compared with the chain.
  const isCompared = isSetUp(batch) && (kind === 'embedded' || chain !== null);
  const isOver = isCompared && (status === 'EXECUTED' || dateCancelled !== undefined);
  const count = executeResult?.totalSuccessful ?? 0;
  try {
    const record = await recordOf(session);
    record.executed(pins, { batchId: id, batchIndex: BigInt(batchIndex) }, count, isOver);
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_STORE_UNAVAILABLE')) throw error;
    session.output.warn(error.message);
  }
}

/**
 * Checks before the set-up that the batch could be approved now.
 * @param repeat - `null`: a person will decide.
 * @param part - of a rest: indexes of its pipelines in the file
 * @throws `ERR_APPROVAL_REFUSED` with the limit, the requested and the used amount; `ERR_INPUT_INVALID` for proofs that were
 * paid before.
 */
export async function requirePlanApprovable(
  session: Session,
  flywheel: Flywheel,
  pipelines: readonly PipelineContent[],
  repeat: Repeat | null,
  part?: readonly number[],
): Promise<void> {
  const asked: Asked = { outflow: outflowOf(pipelines), decimals: flywheel.decimals };
  requireWithin(session.settings, asked, (await recordOf(session)).usedToday(flywheel));
  if (repeat === null) return;
  const earlier = await earlierOf(session, flywheel, { ...PLANNED, pipelines }, repeat);
  // A batch that the service has already is checked before it is signed.
  if (earlier.paid.length > 0 && (await repeat.setUp?.()) === undefined)
    requireUnpaid(
      session,
      { paid: earlier.paid.map((one) => ({ ...one, at: part?.[one.at] ?? one.at })) },
      pipelines,
      repeat,
      part && 'No batch was set up.',
    );
}

async function toRecord(
  session: Session,
  batchId: string,
  { description: { pipelines, digest, batchIndex }, token: { flywheel } }: OnChain,
  own: readonly string[],
) {
  invariant(pipelines !== null && digest !== null, 'What has been checked is a batch of pipelines.');
  const { multisig, mint, decimals } = flywheel;
  const newest = await newestBatch(session, multisig);
  const profile = session.settings.profile.value ?? '';
  const asked: Asked = { outflow: outflowOf(pipelines), decimals };
  const batch = { multisig, mint, newest, batchIndex, digest, batchId, profile, pipelines, own };
  return {
    batch,
    check: (standing: Standing) => requireStanding(session.settings, batch, asked, standing),
    asked,
  };
}

interface OnChain {
  readonly description: Pick<Review['description'], 'pipelines' | 'digest' | 'batchIndex'>;
  readonly token: Pick<Review['token'], 'flywheel'>;
}

/** @throws `ERR_APPROVAL_REFUSED` */
function requireStanding(
  settings: Settings,
  { batchId, batchIndex }: { readonly batchId: string; readonly batchIndex: bigint },
  asked: Asked,
  { used, renamed }: Standing,
): void {
  if (renamed !== null)
    throw refuse(
      `The service says that batch ${batchId} is number ${batchIndex} of the multisig. When it was approved on ${renamed.date} it was number ${renamed.batchIndex}.`,
      `Stop and investigate: both batches may be executed. Compare them with \`flywheel batch inspect\` and a block explorer.`,
    );
  requireWithin(settings, asked, used);
}

/** The checks of {@link holdApproval}, of a batch that is only inspected. @throws `ERR_APPROVAL_REFUSED` */
export async function requireHoldable(session: Session, batchId: string, onChain: OnChain): Promise<void> {
  const { batch, check } = await toRecord(session, batchId, onChain, []);
  check((await recordOf(session)).standing(batch));
}

/**
 * Checks a batch against every limit and earlier payments, while it is shown and when it is signed.
 * @param isAsked - a person will decide, even with `--yes`.
 * @throws `ERR_APPROVAL_REFUSED` with the limit, the requested and the used amount; `ERR_INPUT_INVALID`,
 * `ERR_STORE_UNAVAILABLE`.
 */
export async function holdApproval<Result>(
  session: Session,
  batchId: string,
  { description, token: { flywheel, symbol } }: Review,
  { repeat, isAsked }: { readonly repeat: Repeat; readonly isAsked: boolean },
  use: (held: HeldApproval) => Promise<Result>,
): Promise<Result> {
  const { settings } = session;
  const onChain = { description, token: { flywheel } };
  const { batch, asked, check } = await toRecord(session, batchId, onChain, repeat.own);
  const { pipelines, digest } = batch;
  requireWithin(settings, asked, null);
  const record = await recordOf(session);
  const standing = record.standing(batch);
  check(standing);
  const earlier = comparedWith(standing.known, pipelines, flywheel, symbol);
  if (!isAsked) requireUnpaid(session, earlier, pipelines, repeat, 'Nothing was signed.');
  const isTyped = settings.limits.some((limits) => needsDigest(limits.value, asked));
  return use({
    ...earlier,
    typed: isTyped ? digest.slice(0, TYPED_DIGEST_LENGTH) : null,
    signed: () => record.approve(batch, check, repeat.again ? null : standing.known),
  });
}

function comparedWith(
  { paid, count, unseen, alike }: Known,
  pipelines: readonly PipelineContent[],
  { multisig, owner, operator, mint, vault, vaultTokenAccount, decimals }: Flywheel,
  symbol: string | null,
): Earlier {
  const outflow = outflowOf(pipelines);
  const recipients = [...outflow.recipients.keys()];
  const as = (text: string, addresses: Iterable<KnownAddress['address']>): readonly KnownAddress[] =>
    [...addresses].map((address) => ({ address, as: text }));
  const known = [
    ...as('an address of the project', [multisig, owner, operator, mint, vault, vaultTokenAccount]),
    ...as('a recipient of earlier batches', alike),
    ...as('another recipient of this batch', recipients),
  ];
  const resembling = lookAlikes(recipients, known);
  const alarms = resembling.map((one) => lookAlikeText(one, pipelines));
  if (paid.length > 0) alarms.unshift(twiceText(paid, pipelines.length));
  alarms.push(...contentAlarms(pipelines, { decimals, symbol }));
  const first = 'This is the first approval of this project on this machine.';
  const isFirst = count === 0;
  return {
    ...{ paid, alike: resembling, alarms },
    ...{ strangers: isFirst ? null : new Set(unseen), news: isFirst ? [first] : [] },
  };
}
