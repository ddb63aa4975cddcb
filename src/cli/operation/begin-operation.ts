/** Before the first request of an operation: take or start it, and find what is left to send. A dry run ends here. */
import { EXIT } from '../../errors/exit-codes.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import { answeredBatches, batchStages, giveUpRest } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import { executeOrCancel } from '../hints.js';
import {
  type Begun,
  type Element,
  type Entry,
  isOver,
  type Journal,
  type OperationRequest,
} from '../journal/journal.js';
import { type OutputFile, requireFree } from '../output/output-file.js';
import { countText } from '../views/unit.js';
import {
  askWhatIsDone,
  foreseeUnchanged,
  landedOf,
  lostThere,
  tellByNotes,
  type Unanswered,
} from './done-there.js';
import { nounOf } from './elements.js';
import { hasLandedInPart, wasCancelled, withoutOverlap } from './overlap.js';
import { resumeLine } from './resume-line.js';
import { type AskDoneThere, findBatch, locate } from './service-record.js';
import { notSent } from './verdicts.js';

export interface Preparation {
  /** The whole file. */
  readonly elements: readonly Element[];
  /** Looks up at the service which of them landed. */
  readonly ask: AskDoneThere;
  readonly rest?: boolean;
  readonly allowChanged?: boolean;
  /** Files that it may write. A sending command refuses to replace an existing one. */
  readonly outputs?: readonly OutputFile[];
  /** Sends nothing for an operation in this state? @default true if it is over */
  isRepeat?(state: Entry['state']): boolean;
  /** `undefined`: no other request could have done the same. */
  unanswered(operation: Entry): Unanswered | undefined;
  /** Removes elements from the requests without an answer. @returns whether anything is left to send. */
  leaveOut(entry: Entry, indexes: ReadonlySet<number>): boolean;
  /** Starts the rest for `--rest`, and checks it; sends nothing. @returns false where other requests landed all of it. */
  prepare(entry: Entry): Promise<boolean>;
  /** Before a stored result is printed. @throws `ERR_OUTCOME_UNKNOWN` when the service does not know the result. */
  requireKnown(entry: Entry): Promise<void>;
}

export interface Taken {
  readonly entry: Entry;
  /** The service knows its key, but the journal did not. */
  readonly isKnownThere?: boolean;
  readonly isLookedUp?: boolean;
}

/** Takes the operation of a request, or starts it. @returns `null`: `--rest` left nothing to do. */
export const beginOperation = (
  session: Session,
  request: OperationRequest,
  work: Preparation,
): Promise<Taken | null> => lookUpAndBegin(session, request, work).catch(unread);

/** Of a look-up before the first request. */
function unread(error: unknown): never {
  if (!(error instanceof FlywheelError) || error.code !== 'ERR_RESPONSE_INVALID') throw error;
  const exit = error.exitCode === EXIT.internal ? EXIT.unavailable : error.exitCode;
  throw new FlywheelError(error.code, `${error.message} Nothing was sent.`, { ...error.options, exit });
}

async function lookUpAndBegin(
  session: Session,
  request: OperationRequest,
  work: Preparation,
): Promise<Taken | null> {
  const { kind, content, origin } = request;
  const opened = await session.service();
  // An operation that was started at this address is resumed even if the service does not name its project.
  if ((await opened.journal()).known(kind, content, origin) === undefined) await locate(session);
  const journal = await opened.journal();
  if (!prints(journal, request, work)) work.outputs?.forEach(requireFree);
  const there = await askWhatIsDone(session, journal, request, work);
  const isKnownThere = there === 'known';
  const before = Array.isArray(there) ? { before: there } : {};
  const entry = await begin(session, journal, { ...request, isKnown: isKnownThere, ...before }, work);
  return entry && { entry, isKnownThere, isLookedUp: there === true && entry.isNew };
}

async function begin(
  session: Session,
  journal: Journal,
  request: OperationRequest,
  work: Preparation,
): Promise<Entry | null> {
  const { rest: isRest = false } = work;
  const { kind, content, origin, again, isKnown = false } = request;
  // The same file under another key counts as the same.
  if (!isRest && !again && !isKnown && journal.known(kind, content, origin) === undefined) {
    const date = journal.dateCancelled(kind, content);
    if (date !== undefined) throw wasCancelled(journal, request.elements, date, origin.from === 'user');
  }
  for (let asked: OperationRequest | null = request; asked !== null; ) {
    const now: OperationRequest = asked;
    const begun = await take(session, () => journal.begin(now));
    if (begun?.status === 'taken') {
      await requireToDo(session, journal, begun.entry, now, isRest);
      return begun.entry;
    }
    if (begun?.status === 'unfinished') await requireLost(session, journal, begun.entry, work);
    if (begun?.status === 'refused') asked = await withoutOverlap(session, now, begun, isRest);
  }
  return null;
}

async function requireToDo(
  session: Session,
  journal: Journal,
  begun: Entry,
  request: OperationRequest,
  isRest: boolean,
): Promise<void> {
  const { elements, origin, taken, isKnown } = request;
  const isRepeat = begun.since > 0 && begun.landed(elements).size === 0;
  if (isRest && isRepeat && !isOver(begun.state)) {
    begun.release();
    throw await unfinished(session, begun, '--rest sends nothing of a file that --again repeats.');
  }
  if (begun.state === 'cancelled' && !(isRest && hasLandedInPart(journal, elements))) {
    // The process that noted the cancellation may have died before it told it.
    const untold = begun.printed ? undefined : await takeOperation(session, journal, begun.id);
    if (untold?.state === 'cancelled') untold.markPrinted();
    throw wasCancelled(journal, elements, begun.dateChanged, origin.from === 'user');
  }
  if (!begun.isNew || !isRest || isKnown === true || taken !== null) return;
  begun.remove();
  throw noRest();
}

/** Without a journal, a file that was sent before looks new. `--rest` must not send it in full. */
const noRest = (): FlywheelError =>
  notSent(
    'The journal of this machine does not have this file, so --rest cannot tell what already landed.',
    'Leave out --rest to send the whole file.',
  );

/** True if it only prints a stored result; then its files may exist from the earlier run. */
function prints(
  journal: Journal,
  { kind, content, origin, again }: OperationRequest,
  work: Preparation,
): boolean {
  const state = journal.known(kind, content, origin)?.state;
  if (state === undefined || state === 'cancelled' || again) return false;
  if (work.rest === true && state === 'partial') return false;
  return work.isRepeat?.(state) ?? isOver(state);
}

/** Takes an operation by its id, once no other process works on it. @returns `undefined` for an unknown id. */
export async function takeOperation(
  session: Session,
  journal: Journal,
  id: string,
): Promise<Entry | undefined> {
  const begun = await take(session, () => journal.take(id));
  if (begun === undefined) return undefined;
  invariant(begun.status === 'taken', 'What is taken up is not new.');
  return begun.entry;
}

const POLL_MS = 100;

/** Waits while another process works on it. */
async function take(
  session: Session,
  begin: () => Begun | undefined,
): Promise<Exclude<Begun, { readonly status: 'busy' }> | undefined> {
  const { clock } = session.context;
  const endMs = clock.nowMs() + session.settings.waitSeconds.value * 1_000;
  let isSaid = false;
  for (;;) {
    const begun = begin();
    if (begun?.status !== 'busy') return begun;
    const who = begun.process.replace(/-.*/, '');
    if (clock.nowMs() >= endMs) {
      throw new FlywheelError('ERR_TIMEOUT', `Process ${who} is still running this operation.`, {
        hint: 'Run the same command again to keep waiting. Nothing happens twice.',
      });
    }
    if (!isSaid) session.output.tell(`Process ${who} is running this operation. Waiting for it to finish.`);
    isSaid = true;
    await session.context.sleep(POLL_MS);
  }
}

/** Ends an operation that its service lost, so that `--again` can start over. @throws for any other unfinished operation. */
async function requireLost(
  session: Session,
  journal: Journal,
  entry: Entry,
  { ask, elements }: Preparation,
): Promise<void> {
  const batchId = batchStages(entry.notes).at(-1)?.batchId;
  const noted = landedOf(entry, elements);
  // If the service still has some of it, it must not be sent in full.
  const isGone =
    noted.length > 0
      ? (await lostThere(ask, elements, noted, entry.before))?.length === noted.length
      : batchId !== undefined && (await findBatch(session, batchId)) === null;
  const begun = isGone ? journal.take(entry.id) : undefined;
  if (begun?.status !== 'taken')
    throw await unfinished(session, entry, '--again needs a finished operation.');
  try {
    // Shapes load slowly, and few commands come here.
    const { requireNothingOnChain } = await import('../batch/chain-agrees.js');
    for (const { batch, indexes } of answeredBatches(begun.entry))
      await requireNothingOnChain(session, batch, indexes);
  } catch (error) {
    begun.entry.release();
    throw error;
  }
  begun.entry.settle({ state: 'cancelled', landed: [] });
  begun.entry.markPrinted();
  const what = batchId === undefined ? 'the landed part of this file' : `batch ${batchId} of this file`;
  session.output.warn(`The service no longer knows ${what}. Starting everything again.`);
}

async function unfinished(session: Session, entry: Entry, rule: string): Promise<FlywheelError> {
  const batchId = batchStages(entry.notes).at(-1)?.batchId ?? '';
  const [state, hint] =
    entry.state === 'waiting'
      ? [`is not finished: its batch ${batchId} waits for approval`, await executeOrCancel(session, batchId)]
      : entry.state === 'open'
        ? ['is not finished: its outcome is unknown', `Resume it: ${resumeLine(session, entry)}`]
        : ['has landed in part', 'Use --rest in place of --again to send what did not land.'];
  return notSent(`${rule} The operation started ${entry.dateBegun} ${state}.`, hint, {
    idempotencyKey: entry.key,
  });
}

/** @returns the indexes that are left; `undefined`: not looked up; `null`: nothing is left. */
export async function makeReady(
  session: Session,
  { entry, isLookedUp = false }: Taken,
  work: Preparation,
): Promise<readonly number[] | undefined | null> {
  const left = isLookedUp ? undefined : await leaveOutDone(session, entry, work).catch(unread);
  return left !== null && (await work.prepare(entry)) ? left : null;
}

/** Removes elements that another request landed meanwhile. */
async function leaveOutDone(
  session: Session,
  entry: Entry,
  work: Preparation,
): Promise<readonly number[] | undefined | null> {
  // `--again` sends the whole file, whatever landed before.
  if (isOver(entry.state) || (entry.since > 0 && (entry.isNew || !entry.isToldApart))) return undefined;
  const unanswered = work.unanswered(entry);
  if (unanswered === undefined || unanswered.requests.length === 0) return undefined;
  const found = await foreseeUnchanged(session, entry, work, unanswered);
  if (found === null) {
    if (!entry.isNew) tellByNotes(session);
    return undefined;
  }
  if (found.isOver === true) return null;
  if (found.isCancelled === true) endCancelled(entry);
  const { left, leftOut } = found;
  if (leftOut.length === 0) return left;
  session.output.tell(
    `${countText(leftOut.length, nounOf(entry.kind))} skipped: another request landed them.`,
  );
  return work.leaveOut(entry, new Set(leftOut)) ? left : null;
}

/** A rest begins after it. */
function endCancelled(entry: Entry): void {
  if (giveUpRest(entry)) return;
  entry.settle({ state: entry.since > 0 ? 'partial' : 'cancelled', landed: [] });
  entry.markPrinted();
}

const WOULD: Readonly<Record<Entry['state'], string>> = {
  open: 'Its outcome is unknown. The command would resume it.',
  waiting: 'Its batch waits for approval. The command would resume the batch.',
  partial: 'Part of it landed. The command would send nothing. Add --rest to send the others.',
  done: 'All of it landed. The command would send nothing and print the stored result.',
  cancelled: 'Its batch was cancelled. The command would send what has not landed.',
};

/** @returns indexes of the elements that the command would send; `null`: all. @throws the same errors as the command. */
export async function takenByDryRun(
  session: Session,
  request: OperationRequest,
  workOf: (session: Session) => Preparation,
): Promise<readonly number[] | null> {
  const dry: Session = { ...session, isDryRun: true };
  const opened = await session.service().catch((error: unknown) => {
    if (!isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) throw error;
    return null;
  });
  if (opened === null) return null;
  await opened.copyJournal();
  const work = workOf(dry);
  const begun = await beginOperation(dry, request, work);
  if (begun === null) return [];
  const { entry, isKnownThere } = begun;
  const before = entry.state;
  const left = await makeReady(dry, begun, work);
  if (isOver(entry.state)) await work.requireKnown(entry);
  const { tell } = session.output;
  const sent = entry.kind === 'burn' ? 'burn' : 'file';
  if (!entry.isNew && !(work.rest === true && before === 'partial'))
    tell(`This ${sent} was sent on ${entry.dateBegun}. ${WOULD[before]}`);
  else if (isKnownThere)
    tell(`This ${sent} was sent before. The command would resume it or print the stored result.`);
  if (left === null || isOver(entry.state)) return [];
  const [last] = batchStages(entry.notes).slice(-1);
  const unanswered = work.unanswered(entry)?.requests.flatMap(({ indexes }) => indexes);
  return left ?? unanswered ?? last?.indexes ?? null;
}
