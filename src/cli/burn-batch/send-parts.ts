/**
 * Sends the parts of a burn-batch one after the other under one key, and gathers the outcome of every element.
 *
 * Until the last part has its outcome the key stays in the journal, so the same command run again repeats what is done
 * without burning it twice and goes on from there.
 */
import { attributeOutcomes } from '../../contract/burn-outcomes.js';
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { fingerprint } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { beginRequest, callWith, isOutcomeKnown, noteReply, type RequestKey, withKey } from '../send.js';
import { type BurnBatchPart, partKey, splitBurns } from './split.js';

interface Gathering {
  readonly session: Session;
  readonly opened: OpenedService;
  readonly total: number;
  readonly startedMs: number;
  readonly onOutcome: (outcome: ElementOutcome) => void;
  done: number;
  failed: number;
}

/**
 * Sends all burns. `onOutcome` hears of each element once, with its index in the whole list, as soon as its outcome is known.
 * @throws what the service throws, with the key; outcomes that are known by then have been told.
 */
export async function sendBurns(
  session: Session,
  burns: readonly BurnRequest[],
  givenKey: string | undefined,
  onOutcome: (outcome: ElementOutcome) => void,
): Promise<{ readonly idempotencyKey: string }> {
  const opened = await session.service();
  const request = { operation: 'burnBatch', fingerprint: fingerprint(burns.map((burn) => ({ ...burn }))) };
  const key = beginRequest(session, opened, request, givenKey);
  const startedMs = session.context.clock.nowMs();
  const gathering: Gathering = {
    session,
    opened,
    total: burns.length,
    startedMs,
    onOutcome,
    done: 0,
    failed: 0,
  };
  const parts = splitBurns(burns);
  try {
    for (const [at, part] of parts.entries()) await sendPart(gathering, part, partKey(key.key, at));
    key.settle();
    return { idempotencyKey: key.key };
  } catch (thrown) {
    throw stopped(gathering, thrown, key);
  }
}

async function sendPart(gathering: Gathering, part: BurnBatchPart, idempotencyKey: string): Promise<void> {
  const { session, opened } = gathering;
  if (session.context.signal.aborted)
    throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted between two requests.');
  const told = new Uint8Array(part.burns.length);
  const tell = (outcome: ElementOutcome): void => {
    if (told[outcome.index] === 1) return;
    told[outcome.index] = 1;
    gather(gathering, { ...outcome, index: part.start + outcome.index });
  };
  const reply = await opened.service.burnBatch(
    [...part.burns],
    callWith(session, opened, idempotencyKey, tell),
  );
  noteReply(session, reply);
  if (told.includes(0)) attributeOutcomes(part.burns, reply.value).outcomes.forEach(tell);
  if (told.includes(0)) {
    throw new FlywheelError(
      'ERR_RESPONSE_INVALID',
      'The service did not answer for every element of the request.',
    );
  }
  await session.context.io.stdout.drained();
}

function gather(gathering: Gathering, outcome: ElementOutcome): void {
  gathering.done += 1;
  if (outcome.status === 'error') gathering.failed += 1;
  gathering.onOutcome(outcome);
  const { session, done, total, failed, startedMs } = gathering;
  if (done % 50 !== 0 && done !== total) return;
  const elapsedMs = session.context.clock.nowMs() - startedMs;
  const leftSeconds = Math.ceil(((elapsedMs / done) * (total - done)) / 1_000);
  session.output.progress.show(`${done} of ${total} elements, ${failed} failed, about ${leftSeconds} s left`);
}

/** The error of an unfinished run: what is done stays known to the journal unless nothing was begun at all. */
function stopped(gathering: Gathering, thrown: unknown, key: RequestKey): FlywheelError {
  const { session, done, total } = gathering;
  const error = withKey(session, thrown, key.key);
  if (done === 0 && isOutcomeKnown(error)) {
    key.settle();
    return error;
  }
  key.leave();
  if (done > 0)
    session.output.warn(
      `${done} of ${total} elements have their outcome; the same command goes on from there.`,
    );
  return error;
}
