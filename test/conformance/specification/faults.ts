/** Failures of the service's own, and messages of many problems (contract, section 1.3). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Chain } from '../../../src/chain/chain.js';
import { dataFiles } from '../../../src/compose/local-config.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { openSqliteStore } from '../../../src/store/sqlite/open.js';
import { replacing } from '../../support/doubles.js';
import { aBurnRequest, aPipeline, burnAction, type TestEngine } from '../../support/engine.js';
import { supplyOf } from '../../support/service.js';
import { lockSqlite } from '../../support/store.js';
import type { Answer, Way } from '../../support/ways.js';
import { forget } from './errors.js';
import { approved, burning } from './lifecycle.js';

/** A chain of which every method ends so. */
const chainThat = ({ chain }: TestEngine, fail: () => Promise<never>): Chain =>
  replacing(chain, {
    getAccounts: fail,
    latestBlockhash: fail,
    blockHeight: fail,
    lookUp: fail,
    getTransaction: fail,
    expiredHeight: fail,
    isBlockhashValid: fail,
    submit: fail,
    submitBundles: fail,
  });

const broken = (): Promise<never> => Promise.reject(new Error('secret detail at 10.0.0.7'));
const outOfReach = (): Promise<never> =>
  Promise.reject(
    new FlywheelError('ERR_UNAVAILABLE', 'The cluster does not answer.', { retryAfterSeconds: 3 }),
  );

function expectUnavailable(answer: Answer): void {
  answer.refused(503, 'ERR_UNAVAILABLE');
  if (answer.http !== undefined) expect(Number(answer.http.headers['retry-after'])).toBeGreaterThan(0);
}

/** In this process the caller is one who has the files, and hears more of it. */
function expectLocked(answer: Answer): void {
  if (answer.http !== undefined) expectUnavailable(answer);
  else expect(answer.body).toMatchObject({ error: expect.stringMatching(/^ERR_(STORE_)?UNAVAILABLE$/) });
}

export function faults(under: () => Way): void {
  it('contract 1.3: "ERR_FLYWHEEL_NOT_FOUND — the key\'s token has no registered flywheel"', async () => {
    const way = under();
    const project = await way.register();
    forget(way.test, project, 'flywheel');
    (await way.initBatch(project, burning(1))).refused(400, 'ERR_FLYWHEEL_NOT_FOUND');
    const body = { batchId: randomUUID(), signedTx: 'AAAA' };
    (await way.executeBatch(project, body)).refused(400, 'ERR_FLYWHEEL_NOT_FOUND');
  });

  it('contract 1.3: "500 | ERR_BATCH_INIT_FAILED … internal; no detail leaks"', async () => {
    const way = under();
    const project = await way.register();
    await way.beside({ chain: chainThat(way.test, broken) }, async (ill) => {
      const message = (await ill.initBatch(project, burning(1))).refused(500, 'ERR_BATCH_INIT_FAILED');
      expect(message).not.toMatch(/secret|10\.0\.0\.7/);
    });
  });

  it('contract 1.3: "500 | ERR_BATCH_EXECUTE_FAILED … internal; no detail leaks" — and the batch stays ready', async () => {
    const way = under();
    const project = await way.register();
    const init = (await way.initBatch(project, burning(1))).done();
    await way.beside({ chain: chainThat(way.test, broken) }, async (ill) => {
      const message = (await ill.executeBatch(project, approved(project, init))).refused(
        500,
        'ERR_BATCH_EXECUTE_FAILED',
      );
      expect(message).not.toMatch(/secret|10\.0\.0\.7/);
    });
    expect((await way.executeBatch(project, approved(project, init))).done().result.totalSuccessful).toBe(1);
  });

  it('contract 1.3: "503 | ERR_UNAVAILABLE | … cluster out of reach …; `retry-after`" — nothing was done, the key is free', async () => {
    const way = under();
    const project = await way.register();
    const before = await supplyOf(way, project);
    const key = randomUUID();
    await way.beside({ chain: chainThat(way.test, outOfReach) }, async (far) => {
      expectUnavailable(await far.burn(project, aBurnRequest(1), key));
      expectUnavailable(await far.burnBatch(project, [aBurnRequest(1)], key));
      expectUnavailable(await far.initBatch(project, burning(1), key));
    });
    expect(await supplyOf(way, project)).toBe(before);
    expect((await way.burn(project, aBurnRequest(2), key)).replayed).toBe(false);
    (await way.burnBatch(project, [aBurnRequest(2)], key)).done();
    (await way.initBatch(project, burning(2), key)).done();
  });

  it('contract 1.3: "503 | ERR_UNAVAILABLE | store … out of reach" — locked by somebody else', async () => {
    const way = under();
    const project = await way.register();
    const path = dataFiles(way.test.dataDir).store;
    const store = await openSqliteStore({ path, busyTimeoutMs: 50 });
    await way.beside({ store }, async (waiting) => {
      const unlock = lockSqlite(path);
      try {
        expectLocked(await waiting.burn(project, aBurnRequest(1)));
        expectLocked(await waiting.initBatch(project, burning(1)));
      } finally {
        unlock();
      }
      (await waiting.burn(project, aBurnRequest(1))).done();
    });
    await store.close();
  });

  it('contract 1.3: "ERR_INVALID_REQUEST … `message` names the path of the first 20 problems and how many more"', async () => {
    const way = under();
    const project = await way.register();
    const bad = { ...aBurnRequest(1), burnAmount: '1' };
    const actions = [{ action: 'BURN', amount: '1' } as never];
    for (const [answer, path] of [
      [await way.burnBatch(project, Array(50).fill(bad)), (n: number) => `[${n}].burnAmount`],
      [
        await way.initBatch(project, { pipelines: Array.from({ length: 50 }, () => aPipeline(actions)) }),
        (n: number) => `pipelines[${n}].actions[0].amount`,
      ],
    ] as const) {
      const message = answer.refused(400, 'ERR_INVALID_REQUEST');
      for (let n = 0; n < 20; n += 1) expect(message).toContain(path(n));
      expect(message).not.toContain(path(20));
      expect(message).toMatch(/30 more/);
    }
  });

  it('contract 1.3: "ERR_DAILY_LIMIT_EXCEEDED — says the cap, what is used today (UTC), what was asked"', async () => {
    const way = under();
    const project = await way.register({ dailyBurn: '10', dailyAirdrop: '5' });
    (await way.burn(project, aBurnRequest(3))).done();
    const airdrop = { action: 'AIRDROP', toAddress: project.owner.address, amount: 5.5 } as const;
    for (const [answer, parts] of [
      [await way.burn(project, aBurnRequest(8)), ['10', '3', '8', 'UTC']],
      [await way.initBatch(project, burning(7.5)), ['10', '3', '7.5', 'UTC']],
      [await way.initBatch(project, { pipelines: [aPipeline([airdrop])] }), ['5', '0', '5.5', 'UTC']],
    ] as const) {
      const message = answer.refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
      for (const part of parts) expect(message).toContain(part);
    }
    expect((await way.initBatch(project, { pipelines: [aPipeline([burnAction(7)])] })).status).toBe(200);
  });
}
