/** A server reconciles unfinished work repeatedly, and stops when it is closed. */
import { describe, expect, it } from 'vitest';
import { keepReconciling } from '../../../src/compose/server.js';
import type { ReconcileTerms } from '../../../src/engine/reconcile.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';

const NOTHING = { burns: 0, requests: 0, batches: 0 };
const silent = (): void => undefined;

describe('unfinished work', () => {
  it('is looked for before the server listens, and then again and again, also after a failure', async () => {
    let looks = 0;
    const problems: string[] = [];
    let enough = (): void => undefined;
    const seen = new Promise<void>((resolve) => {
      enough = resolve;
    });
    const reconcile = async (): Promise<typeof NOTHING> => {
      looks += 1;
      if (looks === 4) enough();
      if (looks === 2) throw new FlywheelError('ERR_STORE_UNAVAILABLE', 'The store is locked.');
      return NOTHING;
    };
    const onProblem = (what: string, error: unknown): void =>
      void problems.push(`${what}: ${(error as Error).message}`);
    const kept = await keepReconciling({ reconcile }, { onProblem, intervalMs: 1 });
    expect(looks).toBeGreaterThan(0);
    await seen;
    await kept.close();
    expect(problems).toEqual(['what is unfinished: The store is locked.']);
  });

  it('fails the start of a server whose store cannot be used', async () => {
    const reconcile = (): Promise<typeof NOTHING> =>
      Promise.reject(new FlywheelError('ERR_STORE_UNAVAILABLE', 'No.'));
    await expect(keepReconciling({ reconcile }, { onProblem: silent })).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
    });
  });

  it('is not waited for in the background, stops when the server is closed, and says nothing of that', async () => {
    const heard: string[] = [];
    let terms: ReconcileTerms = {};
    const reconcile = (given: ReconcileTerms = {}): Promise<typeof NOTHING> => {
      terms = given;
      return new Promise((resolve) => {
        given.signal?.addEventListener('abort', () => {
          given.onProblem?.('a burn', given.signal?.reason);
          resolve(NOTHING);
        });
      });
    };
    const onProblem = (what: string): void => void heard.push(what);
    const kept = await keepReconciling({ reconcile }, { onProblem, inBackground: true });
    expect(terms.signal?.aborted).toBe(false);
    await kept.close();
    expect(terms.signal?.aborted).toBe(true);
    expect(heard).toEqual([]);
  });
});
