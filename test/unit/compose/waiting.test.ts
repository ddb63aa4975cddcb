/** The time that a command waits for a cluster. */
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { withPatience } from '../../../src/compose/embedded-service.js';
import { eachOperation, type Perform, type Service } from '../../../src/contract/service.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { systemClock } from '../../../src/values/time.js';

function endless(code: 'ERR_INTERRUPTED' | 'ERR_UNAVAILABLE'): Service {
  const perform: Perform = (_id, _input, { signal }) =>
    new Promise((_resolve, reject) => {
      const stop = (): void => reject(new FlywheelError(code, 'Stopped.'));
      if (signal?.aborted === true) stop();
      signal?.addEventListener('abort', stop);
    });
  return { ...eachOperation(perform), close: async () => undefined };
}

const patient = (code: 'ERR_INTERRUPTED' | 'ERR_UNAVAILABLE', waitMs: number): Service =>
  withPatience({ clock: systemClock, sleep: setTimeout }, endless(code), waitMs, { isLimited: true });

const burn = { type: 'PRODUCT_BUY', proof: {}, burnAmount: 1, persistOnchain: false };

describe('a wait', () => {
  it('ends after its time, and says that it may still land', async () => {
    const service = patient('ERR_INTERRUPTED', 20);
    await expect(service.burn(burn, { credential: null })).rejects.toMatchObject({
      code: 'ERR_TIMEOUT',
      message: 'No outcome after 0.02 s. The transaction is stored and may still land.',
    });
  });

  it('that the user ends is an interruption', async () => {
    const stop = new AbortController();
    const service = patient('ERR_INTERRUPTED', 600_000);
    const burning = service.burn(burn, { credential: null, signal: stop.signal });
    stop.abort();
    await expect(burning).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
  });

  it('changes nothing about other errors', async () => {
    const service = patient('ERR_UNAVAILABLE', 20);
    await expect(service.burn(burn, { credential: null })).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
  });
});
