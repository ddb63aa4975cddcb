/** How long a command of the embedded engine waits: for a cluster, and for whoever else is at the same request or batch. */
import { callOperation, eachOperation, type Perform, type Service } from '../contract/service.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Ambient } from './context.js';

/**
 * The service, each of whose operations stops waiting after so long. What was sent by then is stored, and the same call carries
 * it on.
 * @throws `ERR_TIMEOUT` where the time is over before the end is known.
 */
export function withPatience(service: Service, waitMs: number): Service {
  const patient: Perform = async (id, input, call) => {
    const late = AbortSignal.timeout(waitMs);
    const signal = call.signal === undefined ? late : AbortSignal.any([call.signal, late]);
    try {
      return await callOperation(service, id, input, { ...call, signal });
    } catch (error) {
      const isLate =
        late.aborted && call.signal?.aborted !== true && isFlywheelError(error, 'ERR_INTERRUPTED');
      throw isLate ? stillOpen(waitMs, error) : error;
    }
  };
  return { ...eachOperation(patient), close: () => service.close() };
}

/**
 * The service, asked again for so long where another process is at the same request or batch, or was when it died: then its lease
 * runs out.
 */
export function waitingForOthers(
  { clock, sleep }: Pick<Ambient, 'clock' | 'sleep'>,
  service: Service,
  waitMs: number,
): Service {
  const waiting: Perform = async (id, input, call) => {
    const endMs = clock.nowMs() + waitMs;
    for (;;) {
      try {
        return await callOperation(service, id, input, call);
      } catch (error) {
        const pauseMs = pauseOf(error);
        if (pauseMs === undefined || clock.nowMs() + pauseMs > endMs) throw error;
        await sleep(pauseMs);
      }
    }
  };
  return { ...eachOperation(waiting), close: () => service.close() };
}

function pauseOf(error: unknown): number | undefined {
  const isHeld =
    isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY') ||
    isFlywheelError(error, 'ERR_BATCH_IN_PROGRESS');
  const { retryAfterSeconds } = isHeld ? error.options : {};
  return retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000;
}

const stillOpen = (waitMs: number, cause: FlywheelError): FlywheelError =>
  new FlywheelError(
    'ERR_TIMEOUT',
    `No outcome within ${waitMs / 1_000} s. The transaction is stored and may still land.`,
    { cause, hint: 'Run the same command again to keep waiting, or allow more time with --wait.' },
  );
