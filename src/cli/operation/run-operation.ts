/**
 * Runs one operation: take it from the journal or start it, carry it out, store its verdict, print its outcome, and only then
 * close it. After a crash the same command, or `flywheel pending resume`, continues.
 */
import {
  FlywheelError,
  type FlywheelErrorOptions,
  invariant,
  isFlywheelError,
} from '../../errors/flywheel-error.js';
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
  type Verdict,
} from '../journal/journal.js';
import { type OutputFile, requireFree } from '../output/output-file.js';
import { asFlywheelError } from '../report-failure.js';
import { soon } from '../send.js';
import { countText } from '../views/unit.js';
import {
  type AskDoneThere,
  askWhatIsDone,
  type Found,
  findBatch,
  foreseeUnchanged,
  landedOf,
  locate,
  lostThere,
  requireOwnProject,
  sendsAll,
  tellByNotes,
  type Unanswered,
} from './done-there.js';
import { nounOf } from './elements.js';
import { hasLandedInPart, wasCancelled, withoutOverlap } from './overlap.js';
import { commandLine, resumeLine } from './resume-line.js';
import {
  breaksOff,
  hasFailed,
  isUntried,
  notSent,
  outcomeUnknown,
  saysNothingWasDone,
  saysNothingWasEverDone,
  unread,
} from './verdicts.js';

interface Performed<Result> {
  readonly result: Result;
  /** `undefined` while it is open. */
  readonly verdict?: Verdict;
}

export interface Work<Result> {
  /** The whole file. */
  readonly elements: readonly Element[];
  /** Looks up at the service which of them landed. */
  readonly ask: AskDoneThere;
  readonly rest?: boolean;
  readonly allowChanged?: boolean;
  /** Files that it may write. A sending command refuses to replace an existing one. */
  readonly outputs?: readonly OutputFile[];
  /** Before `--again` notes what has landed. @throws `ERR_INPUT_INVALID` if the service may hide some of it */
  requireSeen?(): Promise<void>;
  /** Sends nothing for an operation in this state? @default true if it is over */
  isRepeat?(state: Entry['state']): boolean;
  /** `undefined`: no other request could have done the same. */
  unanswered(operation: Entry): Unanswered | undefined;
  /** Before a request is sent again that the service does not know. @throws `ERR_OUTCOME_UNKNOWN` if some of it is on chain */
  requireUnsent?(entry: Entry, one: Unanswered['requests'][number], there: readonly Found[]): Promise<void>;
  /** Removes elements from the requests without an answer. @returns whether anything is left to send. */
  leaveOut(entry: Entry, indexes: ReadonlySet<number>): boolean;
  /** Starts the rest for `--rest`, and checks it; sends nothing. @returns false where other requests landed all of it. */
  prepare(entry: Entry): Promise<boolean>;
  /** Before a stored result is printed. @throws `ERR_OUTCOME_UNKNOWN` when the service does not know the result. */
  requireKnown(entry: Entry): Promise<void>;
  /** Sends what is left, using stored answers. @returns `null` where other requests landed all that was left. */
  perform(entry: Entry): Promise<Performed<Result> | null>;
  /** Prints the result and writes its files. @returns the error for a failed result. */
  present(result: Result): FlywheelError | undefined | Promise<FlywheelError | undefined>;
  /** What JSON has beside `skipped`, if others have landed everything. */
  readonly nothing?: object;
  /** One sentence, for the error when the result cannot be printed. */
  summary(result: Result): string;
}

export interface Taken {
  readonly entry: Entry;
  /** The service knows its key, but the journal did not. */
  readonly isKnownThere?: boolean;
  readonly isLookedUp?: boolean;
}

/** Takes the operation of a request, or starts it. @returns `null`: `--rest` left nothing to do. */
async function beginOperation(
  session: Session,
  request: OperationRequest,
  work: Work<unknown>,
): Promise<Taken | null> {
  const opened = await session.service();
  const before = await opened.journal();
  const asked = locate(session);
  await (prints(before, request, work) ? soon(asked) : asked).catch((error: unknown) => {
    // Before anything is sent for an operation that goes on, it is asked again, in the terms of that operation.
    if (!request.again && before.known(request) !== undefined) return;
    if (opened.pins === null || isFlywheelError(error, 'ERR_CONFIG_INVALID')) throw error;
  });
  const journal = await opened.journal();
  if (!prints(journal, request, work)) work.outputs?.forEach(requireFree);
  const { isLookedUp = false, ...there } = await askWhatIsDone(session, journal, request, work);
  const entry = await begin(session, journal, { ...request, ...there }, work);
  return entry && { entry, isKnownThere: there.isKnown === true, isLookedUp: isLookedUp && entry.isNew };
}

async function begin(
  session: Session,
  journal: Journal,
  request: OperationRequest,
  work: Work<unknown>,
): Promise<Entry | null> {
  const { rest: isRest = false } = work;
  const { origin, again, isKnown = false } = request;
  // The same file under another key counts as the same.
  if (!isRest && !again && !isKnown && journal.known(request) === undefined) {
    const date = journal.dateCancelled(request);
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
function prints(journal: Journal, request: OperationRequest, work: Work<unknown>): boolean {
  const state = journal.known(request)?.state;
  if (state === undefined || state === 'cancelled' || request.again) return false;
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
    const running = `Process ${begun.process.replace(/-.*/, '')} is running this operation, or was killed just now.`;
    if (clock.nowMs() >= endMs) {
      throw new FlywheelError('ERR_TIMEOUT', running, {
        hint: 'Run the same command again to keep waiting. Nothing happens twice.',
      });
    }
    if (!isSaid) session.output.tell(`${running} Waiting for it.`);
    isSaid = true;
    await session.context.sleep(POLL_MS);
  }
}

/** Ends an operation that its service lost, so that `--again` can start over. @throws for any other unfinished operation. */
async function requireLost(
  session: Session,
  journal: Journal,
  entry: Entry,
  { ask, elements }: Work<unknown>,
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
      ? [`is not finished: it set up batch ${batchId}`, await executeOrCancel(session, batchId)]
      : entry.state === 'open'
        ? ['is not finished: its outcome is unknown', `Resume it: ${resumeLine(session, entry)}`]
        : ['has landed in part', 'Use --rest in place of --again to send what did not land.'];
  return notSent(`${rule} The operation started ${entry.dateBegun} ${state}.`, hint, {
    idempotencyKey: entry.key,
  });
}

/** @returns the indexes that are left; `undefined`: not looked up; `null`: nothing is left. */
async function makeReady(
  session: Session,
  { entry, isLookedUp = false }: Taken,
  work: Work<unknown>,
): Promise<readonly number[] | undefined | null> {
  if (!isOver(entry.state) || work.rest === true) await requireOwnProject(session, entry);
  const left = isLookedUp ? undefined : await leaveOutDone(session, entry, work).catch(unread);
  return left !== null && (await work.prepare(entry)) ? left : null;
}

/** Removes elements that another request landed meanwhile. */
async function leaveOutDone(
  session: Session,
  entry: Entry,
  work: Work<unknown>,
): Promise<readonly number[] | undefined | null> {
  if (isOver(entry.state) || sendsAll(entry)) return undefined;
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
  partial: 'Not all of it landed. The command would send nothing. Add --rest to send the others.',
  done: 'All of it landed. The command would send nothing and print the stored result.',
  cancelled: 'Its batch was cancelled. The command would send what has not landed.',
};

/** @returns indexes of the elements that the command would send; `null`: all. @throws the same errors as the command. */
export async function takenByDryRun(
  session: Session,
  request: OperationRequest,
  workOf: (session: Session) => Work<unknown>,
): Promise<readonly number[] | null> {
  const dry: Session = { ...session, isDryRun: true };
  const opened = await session.service().catch((error: unknown) => {
    if (!isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) throw error;
    return null;
  });
  if (opened === null) return null;
  await opened.copyJournal();
  const work = workOf(dry);
  const begun = await beginOperation(dry, request, work).catch(unread);
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

/** @throws the error of the result or of the interruption */
export async function runOperation<Result>(
  session: Session,
  request: OperationRequest,
  work: Work<Result>,
): Promise<void> {
  const taken = await beginOperation(session, request, work).catch(unread);
  if (taken === null) return tellAllSkipped(session, work);
  await carryOut(session, taken, work).catch((error: unknown) => {
    throw explained(request, error);
  });
}

function tellAllSkipped({ output }: Session, { elements, nothing }: Work<unknown>): void {
  output.warn('Everything in this file already landed. Nothing was sent.');
  output.result({ ...nothing, skipped: elements.length }, () => []);
}

/** The derived key belongs to the first request of a file, from any machine. The service refuses another part under it. */
function explained({ origin }: OperationRequest, error: unknown): unknown {
  if (!isFlywheelError(error, 'ERR_IDEMPOTENCY_KEY_REUSED') || origin.from !== 'content') return error;
  if (error.options.hint !== undefined) return error;
  return error.with({
    hint: 'Another machine, or a dropped operation, sent a different part of this file. Check what landed: `flywheel history`. Then send what is missing in a new file.',
  });
}

const ENDED: Partial<Record<Entry['state'], string>> = { done: 'Already done', cancelled: 'Cancelled' };

export async function carryOut<Result>(session: Session, taken: Taken, work: Work<Result>): Promise<void> {
  const { entry } = taken;
  session.output.detail(`idempotency key: ${entry.key}`);
  const { state } = entry;
  if (!entry.isNew) noteEarlier(session, entry, work.rest === true);
  const carryOn = async (): Promise<Performed<Result> | null> => {
    const left = await makeReady(session, taken, work);
    const performed = left === null ? null : await work.perform(entry);
    if (performed === null && isOver(state)) await work.requireKnown(entry);
    return performed;
  };
  const performed = await carryOn().catch(async (thrown: unknown) => {
    throw await left(session, entry, thrown);
  });
  if (performed === null) {
    endLanded(entry);
    return tellAllSkipped(session, work);
  }
  if (!entry.isNew && isOver(state) && entry.state === state)
    session.output.tell(`${ENDED[state] ?? 'Ended'} on ${entry.dateChanged}. This is the stored result.`);
  const { result, verdict } = performed;
  const unkept = attempt(() => verdict !== undefined && entry.settle(verdict));
  const failure = await print(session, entry, work, result);
  if (entry.state === 'open') attempt(() => entry.release());
  const unprinted = unkept ?? attempt(() => entry.printed || entry.markPrinted());
  if (isFlywheelError(unprinted, 'ERR_OUTCOME_UNKNOWN')) throw unprinted;
  if (unprinted !== undefined) throw notKept(entry, unprinted);
  if (failure !== undefined) throw failure.with({ idempotencyKey: entry.key });
}

function endLanded(entry: Entry): void {
  if (!entry.hasAnswers) {
    entry.remove();
    return;
  }
  const stages = batchStages(entry.notes);
  const isBegun = stages.length === 1 || stages.at(-1)?.batchId !== undefined;
  if (entry.kind === 'batch' && !isBegun) entry.note({ stages: stages.slice(0, -1) });
  // A cancelled repeat is none any more: what landed before it counts.
  if (entry.since === 0) entry.note({ again: undefined });
  entry.settle({ state: 'done', landed: [] });
  entry.markPrinted();
}

function attempt(step: () => unknown): unknown {
  try {
    step();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

function notKept({ key: idempotencyKey }: Entry, cause: unknown): FlywheelError {
  const reason = isFlywheelError(cause) ? cause.message : 'internal error.';
  const message = `The printed result is final, but the journal could not be updated: ${reason}`;
  const hint = 'The same command prints the result again and sends nothing.';
  return new FlywheelError('ERR_OUTPUT_FAILED', message, { idempotencyKey, hint, cause });
}

function noteEarlier({ output }: Session, entry: Entry, rest: boolean): void {
  if (rest && entry.state === 'partial')
    output.tell(`Sending the rest of the operation started ${entry.dateBegun}.`);
  else if (entry.state === 'open')
    output.tell(`Resuming the operation started ${entry.dateBegun}, whose outcome is unknown.`);
  else if (entry.state === 'waiting') output.tell(`Resuming the batch that was set up ${entry.dateBegun}.`);
}

/** Adds to an error what it means for the operation. Removes an operation that certainly did nothing. */
async function left(session: Session, entry: Entry, thrown: unknown): Promise<FlywheelError> {
  const error = asFlywheelError(thrown, session.context.signal).with({ idempotencyKey: entry.key });
  if (entry.state !== 'open') return notOpen(session, entry, error);
  const { kind } = await session.service();
  const isUnbegun =
    saysNothingWasEverDone(error) ||
    (entry.isNew && saysNothingWasDone(error)) ||
    (kind === 'embedded' && hasFailed(entry.kind, error));
  // Deleting answers would forget what landed; a rest has an earlier stage.
  const isFirst = !entry.hasAnswers && batchStages(entry.notes).length < 2;
  if (isUnbegun && isFirst) {
    entry.remove();
    return error;
  }
  // Of a rest that was certainly never set up, the stage before is the outcome.
  const isOwnKey = error.code !== 'ERR_IDEMPOTENCY_KEY_REUSED';
  if (entry.kind === 'batch' && isOwnKey && isUntried(entry) && giveUpRest(entry)) {
    entry.markPrinted();
    return error;
  }
  attempt(() => entry.release());
  return unsettled(session, entry, error, isUnbegun);
}

function notOpen(session: Session, entry: Entry, error: FlywheelError): FlywheelError {
  const { code, options, message } = error;
  if (isOver(entry.state))
    return code === 'ERR_RESPONSE_INVALID'
      ? outcomeUnknown(message, 'Run the same command again.', contextOf(error))
      : error;
  attempt(() => entry.markPrinted());
  const hint = `Resume it: ${resumeLine(session, entry)}`;
  if (options.unsent === false) return outcomeUnknown(message, hint, contextOf(error));
  return code === 'ERR_OUTCOME_UNKNOWN' && options.hint === undefined ? error.with({ hint }) : error;
}

function unsettled(session: Session, entry: Entry, error: FlywheelError, isUnbegun: boolean): FlywheelError {
  // The error states outcome and remedy already.
  if (error.options.keyUnused === false) return error;
  const { settings } = session;
  const pasted = (...words: readonly string[]): string => `\`${commandLine(settings, ...words)}\``;
  // The key belongs to another request, so this operation can never finish.
  if (error.code === 'ERR_IDEMPOTENCY_KEY_REUSED') {
    const rest = entry.hasAnswers || batchStages(entry.notes).length > 1 ? ' with --rest' : '';
    return error.with({
      hint: `The idempotency key was used for another request, such as another part of the same file. Drop this operation: ${pasted('pending', 'forget', entry.id)}. Then the same command${rest} looks up what landed.`,
    });
  }
  const isBehind = error.code === 'ERR_STORE_BEHIND';
  const ownHint =
    isBehind && settings.apiUrl.value === null
      ? `Review the missing transactions: ${pasted('db', 'accept-gap')}.`
      : (error.options.hint ?? '');
  const first = ownHint === '' ? '' : `${ownHint.replace(/\.$/, '')}. `;
  const line = resumeLine(session, entry);
  const hint = `${first}Resume it: ${line}`;
  const isKnown = isUnbegun || entry.isNew || entry.hasActed || isUntried(entry);
  const isTold = isKnown ? isBehind || !breaksOff(error) : TELLS_ITSELF.has(error.code);
  if (isTold) return error.with({ hint });
  // An earlier attempt may have done it. This error's code and exit number say nothing about that.
  const last = entry.isNew ? 'it was interrupted' : 'resuming it failed';
  const way = saysNothingWasDone(error)
    ? `${first}Resume it: \`${line}\`. Or drop the operation, if no earlier request can still arrive: ${pasted('pending', 'forget', entry.id)}.`
    : hint;
  return outcomeUnknown(
    `Unknown outcome of the operation started ${entry.dateBegun}; ${last}: ${error.message}`,
    way,
    contextOf(error),
  );
}

function contextOf(cause: FlywheelError): FlywheelErrorOptions {
  const { exit: _exit, foreignCode: _foreignCode, unsent: _unsent, ...context } = cause.options;
  return { ...context, cause };
}

const TELLS_ITSELF: ReadonlySet<string> = new Set([
  'ERR_OUTCOME_UNKNOWN',
  'ERR_INTERRUPTED',
  'ERR_TIMEOUT',
  'ERR_DECLINED',
]);

async function print<Result>(
  session: Session,
  entry: Entry,
  work: Work<Result>,
  result: Result,
): Promise<FlywheelError | undefined> {
  try {
    const failure = await work.present(result);
    const reason = await session.context.io.stdout.flush();
    if (reason !== null) throw new FlywheelError('ERR_OUTPUT_FAILED', `standard output: ${reason}.`);
    return failure;
  } catch (cause) {
    const reason = isFlywheelError(cause) ? cause.message : 'internal error.';
    const message = `${work.summary(result)} The result could not be written: ${reason}`;
    const hint = `Print the result again; nothing is sent: ${resumeLine(session, entry)}`;
    throw new FlywheelError('ERR_OUTPUT_FAILED', message, { idempotencyKey: entry.key, hint, cause });
  }
}
