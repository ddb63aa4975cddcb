/** Checks a batch against the limits and earlier approvals: before the question, and in the write that records the approval. */
import type { PipelineContent } from '../../actions/pipelines.js';
import {
  type KnownAddress,
  type LookAlike,
  lookAlikes,
  needsDigest,
  outflowOf,
  requireWithinDay,
  requireWithinLimits,
} from '../../approval/limits.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { Flywheel } from '../../chain/chain.js';
import type { Batch } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import { cancelLine } from '../hints.js';
import type { Known, PaidProof, Standing } from '../journal/approval-record.js';
import type { Entry } from '../journal/journal.js';
import { typedLine } from '../operation/resume-line.js';
import { contentAlarms, lookAlikeText, twiceText } from '../views/approval.js';
import { batchStages } from './batch-stages.js';
import { isSetUp } from './chain-agrees.js';
import { refuse } from './pins.js';
import { type Look, type Review, refusalOf } from './review.js';

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

/** Adds the consent with which the batch's operation was started, unless its question was declined. */
export const repeatOf = (
  entry: Entry | undefined,
  { again = false, allowChanged = false, ...repeat }: Partial<Repeat> & Pick<Repeat, 'hint'>,
): Repeat => ({
  again: again || (entry?.notes['again'] !== undefined && entry.notes['declined'] !== true),
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

/** A batch, or a file that is none yet. */
interface Subject {
  readonly pipelines: readonly PipelineContent[];
  readonly batchIndex: bigint | null;
  readonly digest: Sha256 | null;
}

/** Of a file that is no batch yet. */
const PLANNED = { batchIndex: null, digest: null, batchId: null } as const;

/** Compares a batch, or a file, with the limits and with the other approvals of this machine. */
async function standingOf<Asked extends Subject & { readonly batchId: string | null }>(
  session: Session,
  { multisig, mint, decimals }: Flywheel,
  asked: Asked,
  own: readonly string[] = [],
) {
  const { isOnThisMachine, chain, journal } = await session.service();
  // Nodes of a cluster may hide some.
  const newest =
    isOnThisMachine && chain ? (await readMultisigAccount(chain, multisig)).transactionIndex : null;
  const { settings } = session;
  const outflow = { outflow: outflowOf(asked.pipelines), decimals };
  const { approvals: record } = await journal();
  const batch = { ...asked, multisig, mint, newest, own };
  return {
    ...{ record, batch, standing: record.standing(batch) },
    isLarge: settings.limits.some((limits) => needsDigest(limits.value, outflow)),
    /** @throws `ERR_APPROVAL_REFUSED` with the limit, the requested and the used amount */
    check: ({ used, renamed }: Standing): void => {
      if (renamed !== null)
        throw refuse(
          `The service says that batch ${batch.batchId} is number ${batch.batchIndex} of the multisig. When it was approved on ${renamed.date} it was number ${renamed.batchIndex}.`,
          'Stop and investigate: both batches may be executed. Compare them with `flywheel batch inspect` and a block explorer.',
        );
      for (const { value, source } of settings.limits) {
        const whose = source === 'flag' ? 'the file of --pins' : `the profile ${settings.profile.value}`;
        requireWithinLimits(value, outflow, whose);
        requireWithinDay(value, outflow, used, whose);
      }
    },
  };
}

/** Findings from earlier approvals about a file that is no batch yet. */
export async function earlierOf(
  session: Session,
  flywheel: Flywheel,
  pipelines: readonly PipelineContent[],
  { own, setUp }: Repeat,
): Promise<Earlier> {
  const standingBut = async (but: readonly string[]) =>
    (await standingOf(session, flywheel, { ...PLANNED, pipelines }, but)).standing;
  let standing = await standingBut(own);
  const id = standing.known.paid.length === 0 ? undefined : await setUp?.();
  if (id !== undefined) standing = await standingBut([...own, id]);
  return comparedWith(standing.known, pipelines, flywheel, (await session.service()).symbol);
}

/** The same about a batch that is only inspected, and why it may not be approved. */
export async function inspectStanding(
  session: Session,
  batchId: string,
  { description: { pipelines, digest, batchIndex }, token, isApproved }: Look,
  flywheel: Flywheel | null,
): Promise<{ readonly earlier: Earlier | null; readonly limited: FlywheelError | null }> {
  if (pipelines === null || flywheel === null) return { earlier: null, limited: null };
  const asked = { pipelines, digest, batchIndex, batchId };
  const { standing, check } = await standingOf(session, flywheel, asked);
  const { symbol } = await session.service();
  return {
    earlier: comparedWith(standing.known, pipelines, flywheel, symbol),
    limited: token === null || isApproved ? null : await refusalOf(() => check(standing)),
  };
}

/** Notes how many transactions of a batch were executed. Only warnings depend on it, so a failed write is only a warning. */
export async function noteExecuted(session: Session, batch: Batch): Promise<void> {
  const { pins, kind, chain, journal } = await session.service();
  if (pins === null || session.isDryRun === true) return;
  const { id, batchIndex, executeResult, status, dateCancelled } = batch;
  // What was approved was set up. A batch said to be over before that was not compared with the chain.
  const isCompared = isSetUp(batch) && (kind === 'embedded' || chain !== null);
  const isOver = isCompared && (status === 'EXECUTED' || dateCancelled !== undefined);
  const count = executeResult?.totalSuccessful ?? 0;
  try {
    const { approvals } = await journal();
    approvals.executed(pins, { batchId: id, batchIndex: BigInt(batchIndex) }, count, isOver);
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
  const { standing, check } = await standingOf(session, flywheel, { ...PLANNED, pipelines }, repeat?.own);
  check(standing);
  const { paid } = standing.known;
  // A batch that the service has already is checked before it is signed.
  if (repeat === null || paid.length === 0 || (await repeat.setUp?.()) !== undefined) return;
  const numbered = paid.map((one) => ({ ...one, at: part?.[one.at] ?? one.at }));
  requireUnpaid(session, { paid: numbered }, pipelines, repeat, part && 'No batch was set up.');
}

/**
 * Checks a batch against every limit and earlier payments, while it is shown and when it is signed.
 * @param isAsked - a person will decide, even with `--yes`.
 * @throws `ERR_APPROVAL_REFUSED` with the limit, the requested and the used amount; `ERR_INPUT_INVALID`,
 * `ERR_STORE_UNAVAILABLE`.
 */
export async function holdApproval(
  session: Session,
  batchId: string,
  { description: { pipelines, digest, batchIndex }, token: { flywheel, symbol } }: Review,
  { repeat, isAsked }: { readonly repeat: Repeat; readonly isAsked: boolean },
): Promise<HeldApproval> {
  invariant(pipelines !== null && digest !== null, 'What has been checked is a batch of pipelines.');
  const profile = session.settings.profile.value ?? '';
  const asked = { pipelines, digest, batchIndex, batchId, profile };
  const { record, batch, standing, check, isLarge } = await standingOf(session, flywheel, asked, repeat.own);
  check(standing);
  const earlier = comparedWith(standing.known, pipelines, flywheel, symbol);
  if (!isAsked) requireUnpaid(session, earlier, pipelines, repeat, 'Nothing was signed.');
  return {
    ...earlier,
    typed: isLarge ? digest.slice(0, TYPED_DIGEST_LENGTH) : null,
    signed: () => record.approve(batch, check, repeat.again ? null : standing.known),
  };
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
