/** Internal failures of the service, and messages with many problems (contract, section 1.3). */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer } from './api.js';
import { it } from './cases.js';
import { supplyOf } from './chain-reading.js';
import { aBurnRequest, aPipeline, approved, burnAction, burning } from './requests.js';

function expectUnavailable(answer: Answer): void {
  answer.refused(503, 'ERR_UNAVAILABLE');
  expect(Number(answer.http.headers['retry-after'])).toBeGreaterThan(0);
}

export function faults(): void {
  it('contract 1.3: "500 | ERR_BATCH_INIT_FAILED … internal; no detail leaks"', async (api) => {
    const project = await api.register();
    await api.beside({ chain: 'broken' }, async (ill) => {
      const message = (await ill.initBatch(project, burning(1))).refused(500, 'ERR_BATCH_INIT_FAILED');
      expect(message).not.toMatch(/secret|10\.0\.0\.7/);
    });
  });

  it('contract 1.3: "500 | ERR_BATCH_EXECUTE_FAILED … internal; no detail leaks" — and the batch stays ready', async (api) => {
    const project = await api.register();
    const init = (await api.initBatch(project, burning(1))).done();
    await api.beside({ chain: 'broken' }, async (ill) => {
      const message = (await ill.executeBatch(project, approved(project, init))).refused(
        500,
        'ERR_BATCH_EXECUTE_FAILED',
      );
      expect(message).not.toMatch(/secret|10\.0\.0\.7/);
    });
    expect((await api.executeBatch(project, approved(project, init))).done().result.totalSuccessful).toBe(1);
  });

  it('contract 1.3: "503 | ERR_UNAVAILABLE | … cluster out of reach …; `retry-after`" — nothing was done, the key is free', async (api) => {
    const project = await api.register();
    const before = await supplyOf(api, project);
    const key = randomUUID();
    await api.beside({ chain: 'unreachable' }, async (far) => {
      expectUnavailable(await far.burn(project, aBurnRequest(1), key));
      expectUnavailable(await far.burnBatch(project, [aBurnRequest(1)], key));
      expectUnavailable(await far.initBatch(project, burning(1), key));
    });
    expect(await supplyOf(api, project)).toBe(before);
    expect((await api.burn(project, aBurnRequest(2), key)).replayed).toBe(false);
    (await api.burnBatch(project, [aBurnRequest(2)], key)).done();
    (await api.initBatch(project, burning(2), key)).done();
  });

  it('contract 1.3: "503 | ERR_UNAVAILABLE | store … out of reach" — locked by somebody else', async (api) => {
    const project = await api.register();
    await api.beside({ storePatienceMs: 50 }, async (waiting) => {
      const unlock = api.service.breakStore({ locked: true });
      try {
        expectUnavailable(await waiting.burn(project, aBurnRequest(1)));
        expectUnavailable(await waiting.initBatch(project, burning(1)));
      } finally {
        unlock();
      }
      (await waiting.burn(project, aBurnRequest(1))).done();
    });
  });

  it('contract 1.3: "ERR_INVALID_REQUEST … `message` has the paths of the first 20 problems and the number of the others"', async (api) => {
    const project = await api.register();
    const bad = { ...aBurnRequest(1), burnAmount: '1' };
    const actions = [{ action: 'BURN', amount: '1' }];
    for (const [answer, path] of [
      [await api.burnBatch(project, Array(50).fill(bad)), (n: number) => `[${n}].burnAmount`],
      [
        await api.initBatch(project, { pipelines: Array.from({ length: 50 }, () => aPipeline(actions)) }),
        (n: number) => `pipelines[${n}].actions[0].amount`,
      ],
    ] as const) {
      const message = answer.refused(400, 'ERR_INVALID_REQUEST');
      for (let n = 0; n < 20; n += 1) expect(message).toContain(path(n));
      expect(message).not.toContain(path(20));
      expect(message).toMatch(/30 more/);
    }
  });

  it('contract 1.3: "ERR_DAILY_LIMIT_EXCEEDED — says the cap, what is used today (UTC), and what was requested"', async (api) => {
    const project = await api.register({ dailyBurn: '10', dailyAirdrop: '5' });
    (await api.burn(project, aBurnRequest(3))).done();
    const airdrop = { action: 'AIRDROP', toAddress: project.owner, amount: 5.5 } as const;
    for (const [answer, parts] of [
      [await api.burn(project, aBurnRequest(8)), ['10', '3', '8', 'UTC']],
      [await api.initBatch(project, burning(7.5)), ['10', '3', '7.5', 'UTC']],
      [await api.initBatch(project, { pipelines: [aPipeline([airdrop])] }), ['5', '0', '5.5', 'UTC']],
    ] as const) {
      const message = answer.refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
      for (const part of parts) expect(message).toContain(part);
    }
    expect((await api.initBatch(project, { pipelines: [aPipeline([burnAction(7)])] })).status).toBe(200);
  });
}
