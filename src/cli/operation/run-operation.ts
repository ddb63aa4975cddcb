/**
 * The life of one operation: looked up or begun in the journal, carried out from where it stands, its verdict stored, its
 * outcome printed, and only then given up. Whatever breaks on the way leaves the entry for the same command, or for
 * `flywheel pending resume`, to go on from.
 */
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import { batchStages, giveUpRest } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import {
  type Begun,
  type Element,
  type Entry,
  isOver,
  type Journal,
  type OperationRequest,
  type OperationState,
  type OperationSummary,
  type Verdict,
} from '../journal/journal.js';
import { type OutputFile, requireFree } from '../output/output-file.js';
import { asFlywheelError } from '../report-failure.js';
import { countText } from '../views/unit.js';
import { askWhatIsDone, foreseeUnchanged, lostThere, tellByNotes, type Unanswered } from './done-there.js';
import { changedElements, withoutOverlap } from './overlap.js';
import { commandLine, resumeLine } from './resume-line.js';
import { type AskDoneThere, findBatch, locate } from './service-record.js';
import {
  hasFailed,
  isUntried,
  notSent,
  outcomeUnknown,
  saysNothingWasDone,
  saysNothingWasEverDone,
} from './verdicts.js';

/** What came of an operation so far. */
export interface Performed<Result> {
  readonly result: Result;
  /** Where it has come to one now. */
  readonly verdict?: Verdict;
}

/** An operation as its requests follow from it. */
export type Standing = Pick<
  Entry,
  'kind' | 'id' | 'key' | 'state' | 'notes' | 'answer' | 'hasAnswers' | 'isNew' | 'dateBegun'
>;

/** What a command does within its operation. */
export interface Work<Result> {
  /** What people call an element: "burn", "pipeline". */
  readonly noun: string;
  /** What the service has done of its elements; `undefined`: each call is a new one. */
  readonly ask: AskDoneThere | undefined;
  /** `--rest`: it does what has not landed. */
  readonly rest?: boolean;
  /** Also what has landed with another amount or recipient. */
  readonly allowChanged?: boolean;
  /** Files that it may write; a file that is there is in the way of what sends. */
  readonly outputs?: readonly OutputFile[];
  /** Does it send nothing for an operation in this state? Unless said, where that is over. */
  isRepeat?(state: OperationState): boolean;
  /** What of the operation has no answer yet; `undefined`: nothing that others could have done. */
  unanswered(operation: Standing): Unanswered | undefined;
  /** Leaves these out of the requests that have no answer yet. @returns whether anything is left to send. */
  leaveOut(entry: Entry, indexes: ReadonlySet<number>): boolean;
  /**
   * Begins the rest, where that is asked for, and looks whether what is left can be done; nothing of it is sent.
   * @returns false where others have landed all that was left.
   */
  prepare(entry: Entry): Promise<boolean>;
  /**
   * Does what is left to do; answers that are stored are not asked for again.
   * @returns `null` where others have landed all that was left.
   */
  perform(entry: Entry): Promise<Performed<Result> | null>;
  /** Prints the result and writes its files. @returns the error that it amounts to, if it does. */
  present(result: Result): FlywheelError | undefined | Promise<FlywheelError | undefined>;
  /** The result in a sentence, for when it cannot be printed. */
  summary(result: Result): string;
}

/** Said where this machine knows nothing of an earlier request, and the service does. */
export const REPLAYED =
  'Already done: this is the result of an earlier request with the same key. Nothing was sent.';

/** Pause between two looks at an operation that another process is at. */
const POLL_MS = 100;

/** The work of an operation before its first request. */
export type Preparation = Omit<Work<unknown>, 'perform' | 'present' | 'summary'>;

/** An operation that was taken, and what its service was asked before. */
interface Taken {
  readonly entry: Entry;
  /** Its service knows its key, and this machine did not. */
  readonly isKnownThere?: boolean;
  /** Just now. */
  readonly isLookedUp?: boolean;
}

/**
 * Runs an operation to its end.
 * @returns false when `--rest` left nothing to do.
 * @throws the error that its result amounts to, or that left it in the middle.
 */
export async function runOperation<Result>(
  session: Session,
  request: OperationRequest,
  work: Work<Result>,
): Promise<boolean> {
  const taken = await beginOperation(session, request, work);
  if (taken === null) return false;
  return carryOut(session, taken, work).catch((error: unknown) => {
    throw explained(request, error);
  });
}

/**
 * Takes up the operation that a request is, or begins it, by what this machine and its service know.
 * @returns `null`: a rest has left nothing to do.
 * @throws `ERR_INPUT_INVALID`; nothing was begun then.
 */
export async function beginOperation(
  session: Session,
  request: OperationRequest,
  work: Preparation,
): Promise<Taken | null> {
  const { kind, content, origin } = request;
  const opened = await session.service();
  // What was begun at this address is gone on with, and told, whether the service says which it is or not.
  if ((await opened.journal()).known(kind, content, origin) === undefined) await locate(session);
  const journal = await opened.journal();
  if (!prints(journal, request, work)) work.outputs?.forEach(requireFree);
  const there = await askWhatIsDone(session, journal, request, work);
  const isKnownThere = there === 'known';
  const entry = await begin(session, journal, { ...request, isKnown: isKnownThere }, work);
  return entry && { entry, isKnownThere, isLookedUp: there === true && entry.isNew };
}

/** Says that all of a file has landed before, by other requests. @param result - what is printed beside the count. */
export function tellAllSkipped({ output }: Session, skipped: number, result: object = {}): void {
  output.warn('Everything in this file already landed. Nothing was sent.');
  output.result({ ...result, skipped }, () => []);
}

/** @returns `null`: a rest has left nothing to do. @throws `ERR_INPUT_INVALID`; nothing was begun then. */
async function begin(
  session: Session,
  journal: Journal,
  request: OperationRequest,
  work: Preparation,
): Promise<Entry | null> {
  const { noun, rest: isRest = false } = work;
  for (let asked: OperationRequest | null = request; asked !== null; ) {
    const now: OperationRequest = asked;
    const begun = await take(
      session,
      () => journal.begin(now),
      (entry) => requireLost(session, journal, entry, now, work),
    );
    if ('changes' in begun) throw changedElements(begun.changes, { kind: now.kind, noun });
    if (!('overlaps' in begun)) {
      requireToDo(begun, now, isRest);
      return begun;
    }
    asked = withoutOverlap(session, now, begun.overlaps, { noun, isRest });
  }
  return null;
}

/** @throws `ERR_INPUT_INVALID` for what was cancelled, and for a rest of what nobody knows. */
function requireToDo(begun: Entry, { elements, taken, isKnown }: OperationRequest, isRest: boolean): void {
  if (begun.state === 'cancelled') {
    const isPart = begun.lacking(elements).length < elements.length;
    if (!isRest || !isPart) throw wasCancelled(begun.dateChanged, isPart);
    begun.settle({ state: 'partial', landed: [] });
  }
  if (!begun.isNew || !isRest || isKnown === true || taken !== null) return;
  begun.remove();
  throw noRest();
}

/** On a machine without a journal a file that was sent before looks new: it is not sent in full by a word that means a part. */
const noRest = (): FlywheelError =>
  notSent(
    'The journal of this machine does not know this file, so --rest cannot tell what has landed.',
    'To send everything, leave out --rest.',
  );

/** Its owner has cancelled its batch; nobody starts that again by bringing the same file. */
export const wasCancelled = (date: string, isPart = false): FlywheelError =>
  notSent(
    `The batch of this file was cancelled on ${date.slice(0, 10)} before anything landed.`,
    isPart
      ? 'Another request landed part of the file. Add --rest to send the others, or --again to send everything.'
      : 'To run it anyway, add --again.',
  );

/** Does it print no more than what an earlier run has come to? Its files may be there from that run. */
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

/** The key of a file is used by the first that is sent of it, from wherever: what is sent of it after that, with other parts, is refused. */
function explained({ origin }: OperationRequest, error: unknown): unknown {
  if (!isFlywheelError(error, 'ERR_IDEMPOTENCY_KEY_REUSED') || origin.from !== 'content') return error;
  if (error.options.hint !== undefined) return error;
  return error.with({
    hint: 'Another machine, or an operation that was forgotten here, sent a different part of this file. See what landed, then send the missing entries in a new file.',
  });
}

/** Takes up an operation by its id, when no other process is at it any more. @returns `undefined` where there is none. */
export async function takeOperation(
  session: Session,
  journal: Journal,
  id: string,
): Promise<Entry | undefined> {
  const begun = await take(session, () => journal.take(id));
  invariant(begun === undefined || 'kind' in begun, 'What is taken up is not new.');
  return begun;
}

/** Carries out an operation that was taken. @returns false when nothing is left of it: others have landed all. */
export async function carryOut<Result>(session: Session, taken: Taken, work: Work<Result>): Promise<boolean> {
  const { entry } = taken;
  session.output.detail(`idempotency key: ${entry.key}`);
  noteEarlier(session, entry, work.rest === true);
  const carryOn = async (): Promise<Performed<Result> | null> =>
    (await makeReady(session, taken, work)) && work.perform(entry);
  const performed = await carryOn().catch(async (thrown: unknown) => {
    throw await left(session, entry, thrown);
  });
  if (performed === null) {
    endLanded(entry);
    return false;
  }
  const { result, verdict } = performed;
  const unkept = attempt(() => verdict !== undefined && entry.settle(verdict));
  const failure = await print(session, entry, work, result);
  if (entry.state === 'open') attempt(() => entry.release());
  const unprinted = unkept ?? attempt(() => entry.printed || entry.markPrinted());
  if (unprinted !== undefined) throw notKept(entry, unprinted);
  if (failure !== undefined) throw failure.with({ idempotencyKey: entry.key });
  return true;
}

/** Others have landed all that was left of it. What was answered before is kept. */
function endLanded(entry: Entry): void {
  if (!entry.hasAnswers) {
    entry.remove();
    return;
  }
  const stages = batchStages(entry.notes);
  const isBegun = stages.length === 1 || stages.at(-1)?.batchId !== undefined;
  if (entry.kind === 'batch' && !isBegun) entry.note({ stages: stages.slice(0, -1) });
  entry.settle({ state: 'done', landed: [] });
  entry.markPrinted();
}

/** What is going to be sent: numbers of elements, where its service has just been asked what it has done of them. */
interface Ready {
  readonly left?: readonly number[];
}

/**
 * All that comes before the first request.
 * @returns `null`: nothing is left to send.
 * @throws as {@link foreseeUnchanged} and `prepare`
 */
export async function makeReady(
  session: Session,
  { entry, isLookedUp = false }: Taken,
  work: Preparation,
): Promise<Ready | null> {
  const ready = isLookedUp ? {} : await leaveOutDone(session, entry, work);
  return ready && (await work.prepare(entry)) ? ready : null;
}

/** Before the first request goes out that has no answer yet: others may have done it meanwhile. */
async function leaveOutDone(session: Session, entry: Entry, work: Preparation): Promise<Ready | null> {
  // Somebody has said that all of it is done once more.
  if (isOver(entry.state) || entry.notes['again'] === true) return {};
  const unanswered = work.unanswered(entry);
  if (unanswered === undefined || unanswered.requests.length === 0) return {};
  const found = await foreseeUnchanged(session, entry, unanswered, work);
  if (found?.isOver === true) return null;
  if (found === null && !entry.isNew) tellByNotes(session);
  if (found?.isCancelled === true && !giveUpRest(entry)) entry.settle({ state: 'partial', landed: [] });
  if (found === null) return {};
  const { left, leftOut } = found;
  if (leftOut.length === 0) return { left };
  session.output.tell(`${countText(leftOut.length, work.noun)} skipped: another request landed them.`);
  return work.leaveOut(entry, new Set(leftOut)) ? { left } : null;
}

/** What a step throws, if it does. */
function attempt(step: () => unknown): unknown {
  try {
    step();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** The outcome is out, and that could not be written down: nothing is lost, and the same command would tell it again. */
function notKept(entry: Entry, cause: unknown): FlywheelError {
  const reason = isFlywheelError(cause) ? cause.message : 'internal error.';
  return new FlywheelError(
    'ERR_OUTPUT_FAILED',
    `The printed result is final, but the journal could not be updated: ${reason}`,
    {
      idempotencyKey: entry.key,
      hint: 'The same command prints it again and sends nothing.',
      cause,
    },
  );
}

type InTheWay = Extract<Begun, { readonly status: 'overlap' | 'changed' }>;

/** @param unfinished - what to do where `again` was asked for, and the last one is not over. */
async function take<Asked extends Begun | undefined>(
  session: Session,
  begin: () => Asked,
  unfinished?: (entry: OperationSummary) => Promise<void>,
): Promise<Entry | InTheWay | Extract<Asked, undefined>> {
  const { clock } = session.context;
  const endMs = clock.nowMs() + session.settings.waitSeconds.value * 1_000;
  let isSaid = false;
  for (;;) {
    const begun: Begun | undefined = begin();
    if (begun === undefined) return undefined as Extract<Asked, undefined>;
    if (begun.status === 'taken') return begun.entry;
    if (begun.status === 'overlap' || begun.status === 'changed') return begun;
    if (begun.status === 'unfinished') {
      await unfinished?.(begun.entry);
      continue;
    }
    const who = begun.process.replace(/-.*/, '');
    if (clock.nowMs() >= endMs) {
      throw new FlywheelError('ERR_TIMEOUT', `Process ${who} is still running this operation.`, {
        hint: 'Run the command again to keep waiting. Nothing happens twice.',
      });
    }
    if (!isSaid) session.output.tell(`Process ${who} is running this operation. Waiting for it to finish.`);
    isSaid = true;
    await session.context.sleep(POLL_MS);
  }
}

/**
 * What its service no longer knows is over, though nobody can bring it to its end: then it may be done anew.
 * @throws `ERR_INPUT_INVALID` for any other operation that is not over.
 */
async function requireLost(
  session: Session,
  journal: Journal,
  entry: OperationSummary,
  { elements }: Pick<OperationRequest, 'elements'>,
  { ask }: Pick<Work<unknown>, 'ask'>,
): Promise<void> {
  const batchId = batchStages(entry.notes).at(-1)?.batchId;
  if (!(await isLost(session, journal, batchId, elements, ask))) throw unfinished(session, entry);
  const begun = journal.take(entry.id);
  if (begun?.status !== 'taken') throw unfinished(session, entry);
  begun.entry.settle({ state: 'cancelled', landed: [] });
  begun.entry.markPrinted();
  const what = batchId === undefined ? 'what has landed of this file' : `batch ${batchId} of this file`;
  session.output.warn(`The service no longer knows ${what}. Starting everything again.`);
}

async function isLost(
  session: Session,
  journal: Journal,
  batchId: string | undefined,
  elements: readonly Element[],
  ask: AskDoneThere | undefined,
): Promise<boolean> {
  const landed = new Set(journal.landed(elements));
  const noted = elements.filter(({ digest }) => landed.has(digest));
  // Where some of it is still there, it is not done in full.
  if (noted.length > 0) return ask !== undefined && (await lostThere(ask, noted))?.length === noted.length;
  if (batchId === undefined) return false;
  return (await findBatch(session, batchId)) === null;
}

function unfinished(session: Session, entry: OperationSummary): FlywheelError {
  const state = {
    open: `is not finished: its outcome is unknown`,
    waiting: 'is not finished: its batch waits for approval',
    partial: 'has landed in part',
  }[entry.state as 'open' | 'waiting' | 'partial'];
  const batchId = batchStages(entry.notes).at(-1)?.batchId ?? '';
  const hint = {
    open: `Resume it: ${resumeLine(session, entry)}`,
    waiting: `Approve and execute the batch, or cancel it: \`${commandLine(session.settings, 'batch', 'cancel', batchId)}\``,
    partial: 'Use --rest instead of --again to send what did not land.',
  }[entry.state as 'open' | 'waiting' | 'partial'];
  return notSent(
    `--again needs a finished operation. This one, started ${entry.dateBegun}, ${state}.`,
    hint,
    { idempotencyKey: entry.key },
  );
}

function noteEarlier({ output }: Session, entry: Entry, rest: boolean): void {
  if (entry.isNew) return;
  if (rest && entry.state === 'partial')
    output.tell(`Sending the rest of the operation started ${entry.dateBegun}.`);
  else if (entry.state === 'open')
    output.tell(`Resuming the operation started ${entry.dateBegun}, whose outcome is unknown.`);
  else if (entry.state === 'waiting') output.tell(`Resuming the batch that was set up ${entry.dateBegun}.`);
  else output.tell(`Already done on ${entry.dateChanged}. This is the stored result; nothing was sent.`);
}

/** What was thrown, with what it means for the operation; gives up the entry of one that certainly did nothing. */
async function left(session: Session, entry: Entry, thrown: unknown): Promise<FlywheelError> {
  const error = asFlywheelError(thrown, session.context.signal).with({ idempotencyKey: entry.key });
  if (entry.state !== 'open') {
    if (isOver(entry.state)) return error;
    attempt(() => entry.markPrinted());
    if (error.code !== 'ERR_OUTCOME_UNKNOWN' || error.options.hint !== undefined) return error;
    return error.with({ hint: `Resume it: ${resumeLine(session, entry)}` });
  }
  const { kind } = await session.service();
  const isUnbegun =
    saysNothingWasEverDone(error) ||
    (entry.isNew && saysNothingWasDone(error)) ||
    (kind === 'embedded' && hasFailed(entry.kind, error));
  // With its answers it would be forgotten what has landed; a rest has something before it.
  const isFirst = !entry.hasAnswers && batchStages(entry.notes).length < 2;
  if (isUnbegun && isFirst) {
    entry.remove();
    return error;
  }
  // The holder's name does no harm: this process is about to end.
  attempt(() => entry.release());
  return unsettled(session, entry, error, isUnbegun);
}

/** What stays open in the journal. */
function unsettled(session: Session, entry: Entry, error: FlywheelError, isUnbegun: boolean): FlywheelError {
  // It says what has become of it, and what to do.
  if (error.options.keyUnused === false) return error;
  if (error.code === 'ERR_IDEMPOTENCY_KEY_REUSED') return error.with({ hint: forgetHint(session, entry) });
  const hint = `Resume it: ${resumeLine(session, entry)}`;
  const isKnown = isUnbegun || entry.isNew || entry.hasActed || isUntried(entry);
  if (error.code === 'ERR_STORE_BEHIND' && isKnown)
    return error.with({ hint: `${behindHint(session, error)} ${hint}` });
  const isTold = isKnown ? !breaksOff(error) : TELLS_ITSELF.has(error.code);
  if (isTold) return error.with({ hint });
  // Some of it may have been done, now or before, and all that is known is that this try did not help: with which code and exit
  // number it failed is said of the try only.
  const last = entry.isNew ? 'it was interrupted' : 'resuming it failed';
  const forget = hasFailed(entry.kind, error)
    ? ` Or drop it, if no earlier try can be on its way: \`${commandLine(session.settings, 'pending', 'forget', entry.id)}\`.`
    : '';
  const { exit: _exit, foreignCode: _foreignCode, unsent: _unsent, ...context } = error.options;
  return outcomeUnknown(
    `Unknown outcome of the operation started ${entry.dateBegun}; ${last}: ${error.message}`,
    `${hint}${forget}`,
    { ...context, cause: error },
  );
}

/** What was sent under its key was something else, or came from elsewhere: nobody can bring this to its end. */
const forgetHint = ({ settings }: Session, { id, hasAnswers, notes }: Entry): string =>
  `Its key was used for something else, such as another part of the same file. Drop this operation: \`${commandLine(settings, 'pending', 'forget', id)}\`. Then the same command${hasAnswers || batchStages(notes).length > 1 ? ' with --rest' : ''} looks up what has landed.`;

/** Before that is accepted nothing is written, and going on is refused as well. */
const behindHint = ({ settings }: Session, { hint = '' }: FlywheelError): string =>
  settings.apiUrl.value === null
    ? `Review what is missing: \`${commandLine(settings, 'db', 'accept-gap')}\`.`
    : hint;

/** Codes that say of themselves that the outcome is open. */
const TELLS_ITSELF: ReadonlySet<string> = new Set([
  'ERR_OUTCOME_UNKNOWN',
  'ERR_INTERRUPTED',
  'ERR_TIMEOUT',
  'ERR_DECLINED',
]);

/** Does it stop in the middle, or leave open who says it? Of a step that had several effects some may be there. */
const breaksOff = ({ code, options }: FlywheelError): boolean =>
  code === 'ERR_STORE_UNAVAILABLE' || options.doubtful === true;

async function print<Result>(
  session: Session,
  entry: Entry,
  work: Work<Result>,
  result: Result,
): Promise<FlywheelError | undefined> {
  const lost = (reason: string, cause?: unknown): FlywheelError =>
    new FlywheelError(
      'ERR_OUTPUT_FAILED',
      `${work.summary(result)} The result could not be written: ${reason}`,
      {
        idempotencyKey: entry.key,
        hint: `Print it again (nothing is sent): ${resumeLine(session, entry)}`,
        ...(cause === undefined ? {} : { cause }),
      },
    );
  let failure: FlywheelError | undefined;
  try {
    failure = await work.present(result);
  } catch (thrown) {
    const reason = isFlywheelError(thrown) ? thrown.message : 'internal error.';
    throw lost(reason, thrown);
  }
  const reason = await session.context.io.stdout.flush();
  if (reason !== null) throw lost(`standard output: ${reason}.`);
  return failure;
}
