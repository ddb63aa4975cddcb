/** How long a command waits for a cluster: the engine itself waits for as long as it takes. */
import { callOperation, eachOperation, type Perform, type Service } from '../contract/service.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';

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

const stillOpen = (waitMs: number, cause: FlywheelError): FlywheelError =>
  new FlywheelError(
    'ERR_TIMEOUT',
    `The chain has not said within ${waitMs / 1_000} s what came of it; it is stored, and may still land.`,
    { cause, hint: 'Run the same command again to wait on; --wait allows more.' },
  );
