/**
 * Runs one operation: take it from the journal or start it, carry it out, store its verdict, print its outcome, and only then
 * close it. After a crash the same command, or `flywheel pending resume`, continues.
 */
import { FlywheelError, type FlywheelErrorOptions, isFlywheelError } from '../../errors/flywheel-error.js';
import { batchStages, giveUpRest } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import { type Entry, isOver, type OperationRequest, type Verdict } from '../journal/journal.js';
import { asFlywheelError } from '../report-failure.js';
import { beginOperation, makeReady, type Preparation, type Taken } from './begin-operation.js';
import { commandLine, resumeLine } from './resume-line.js';
import {
  breaksOff,
  hasFailed,
  isUntried,
  outcomeUnknown,
  saysNothingWasDone,
  saysNothingWasEverDone,
} from './verdicts.js';

interface Performed<Result> {
  readonly result: Result;
  /** `undefined` while it is open. */
  readonly verdict?: Verdict;
}

export interface Work<Result> extends Preparation {
  /** Sends what is left, using stored answers. @returns `null` where other requests landed all that was left. */
  perform(entry: Entry): Promise<Performed<Result> | null>;
  /** Prints the result and writes its files. @returns the error for a failed result. */
  present(result: Result): FlywheelError | undefined | Promise<FlywheelError | undefined>;
  /** What JSON has beside `skipped`, if others have landed everything. */
  readonly nothing?: object;
  /** One sentence, for the error when the result cannot be printed. */
  summary(result: Result): string;
}

export const REPLAYED =
  'Already done: this is the result of an earlier request with the same key. Nothing was sent.';

/** @throws the error of the result or of the interruption */
export async function runOperation<Result>(
  session: Session,
  request: OperationRequest,
  work: Work<Result>,
): Promise<void> {
  const taken = await beginOperation(session, request, work);
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
    session.output.tell(`Already done on ${entry.dateChanged}. This is the stored result; nothing was sent.`);
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

function notKept(entry: Entry, cause: unknown): FlywheelError {
  const reason = isFlywheelError(cause) ? cause.message : 'internal error.';
  return new FlywheelError(
    'ERR_OUTPUT_FAILED',
    `The printed result is final, but the journal could not be updated: ${reason}`,
    {
      idempotencyKey: entry.key,
      hint: 'The same command prints the result again and sends nothing.',
      cause,
    },
  );
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
  const lost = (reason: string, cause?: unknown): FlywheelError =>
    new FlywheelError(
      'ERR_OUTPUT_FAILED',
      `${work.summary(result)} The result could not be written: ${reason}`,
      {
        idempotencyKey: entry.key,
        hint: `Print the result again; nothing is sent: ${resumeLine(session, entry)}`,
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
