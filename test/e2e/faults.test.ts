/** Broken connections, refusals and dead servers: nothing happens twice, and the client reports what it can know. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MOMENTS } from '../simulation/audit/tables.js';

import {
  aBurnRequest,
  aPipeline,
  burnAction,
  openTestEngine,
  signVote,
  supplyOf,
  type TestEngine,
  type TestProject,
} from '../support/engine.js';
import { faulty, LEASE_MS } from '../support/faults.js';
import { besides } from '../support/flywheel-here.js';
import { type RunningServer, remoteClient, startServer } from '../support/http.js';
import { ask, initHome, type ServedHome, serve } from '../support/http-serve.js';
import { sampleOf } from '../support/long.js';
import { failureOf } from '../support/service.js';
import { type Gate, startGate } from './gate.js';

/** Cut before the request reaches the server, during it, or before its answer. */
const CUTS = { before: 'drop', during: 'cut', after: 'lose', none: 'pass' } as const;
type Cut = keyof typeof CUTS;

const [_UNAVAILABLE, UNKNOWN] = [6, 7];
const UNIT = 1_000_000n;

describe('a connection that is cut', () => {
  let under: { readonly test: TestEngine };
  let project: TestProject;
  let server: RunningServer;
  let gate: Gate;
  let cuts: Cut[];

  beforeAll(async () => {
    under = { test: await openTestEngine() };
    const { engine } = under.test;
    server = await startServer({ engine });
  });
  afterAll(async () => {
    await server.closeGracefully(5_000);
    await under.test.destroy();
  });
  beforeEach(async () => {
    project = await under.test.register();
    gate = await startGate(server.url, [project.key.reveal()]);
    cuts = [];
    gate.fate = () => CUTS[cuts.shift() ?? 'none'];
  });
  afterEach(() => gate.close());

  const client = () => remoteClient(gate.url, { clock: { nowMs: Date.now } }).service;

  it.each(['before', 'during', 'after'] as const)(
    '%s every try leaves an outcome that the same key settles',
    async (cut) => {
      const before = await supplyOf(under, project);
      const request = aBurnRequest(1);
      const call = project.call({ idempotencyKey: randomUUID() });
      const service = client();
      cuts = [cut, cut, cut];
      const error = await failureOf(service.burn(request, call));
      expect([error.code, error.exitCode, error.options.idempotencyKey]).toEqual([
        'ERR_OUTCOME_UNKNOWN',
        UNKNOWN,
        call.idempotencyKey,
      ]);
      const reply = await service.burn(request, call);
      expect(reply.meta.replayed).toBe(cut === 'after');
      expect(before - (await supplyOf(under, project))).toBe(UNIT);
      await service.close();
    },
  );

  it('makes neither a second batch nor a second execution', async () => {
    const before = await supplyOf(under, project);
    for (const cut of ['during', 'after'] as const) {
      const service = client();
      const request = { pipelines: [aPipeline([burnAction(1)]), aPipeline([burnAction(1)])] };
      cuts = [cut];
      const { value } = await service.initBatch(request, project.call({ idempotencyKey: randomUUID() }));
      expect((await under.test.engine.currentBatch(project.call())).value?.id).toBe(value.batch.id);
      const { batch, proposalApproveTx } = value;
      const signedTx = signVote(project.owner, proposalApproveTx);
      await service.close();
      const again = client();
      cuts = [cut];
      const executed = await again.executeBatch(
        { batchId: batch.id, signedTx },
        project.call({ idempotencyKey: randomUUID() }),
      );
      expect(executed.value.result.totalSuccessful).toBe(2);
      expect((await under.test.engine.currentBatch(project.call())).value).toBeNull();
      await again.close();
    }
    expect(before - (await supplyOf(under, project))).toBe(4n * UNIT);
  });

  it('keeps the books of many clients at once, whatever is cut', async () => {
    const before = await supplyOf(under, project);
    const kinds: readonly Cut[] = ['before', 'none', 'after', 'during', 'none'];
    cuts = Array.from({ length: 40 }, (_, index) => kinds[index % kinds.length] as Cut);
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const service = client();
        const request = aBurnRequest(1);
        const call = project.call({ idempotencyKey: randomUUID() });
        for (;;) {
          const outcome = await service.burn(request, call).catch((error: unknown) => error);
          if (outcome instanceof Error) {
            expect(outcome).toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' });
            continue;
          }
          await service.close();
          return (outcome as { value: { txHash: string } }).value.txHash;
        }
      }),
    );
    expect(new Set(outcomes).size).toBe(30);
    expect(before - (await supplyOf(under, project))).toBe(30n * UNIT);
  });
});

describe('a server that is killed while it burns', () => {
  const ELEMENTS = 600;
  const path = '/v1/tokenomics/burn-batch';

  const burned = async (home: ServedHome): Promise<string> =>
    (JSON.parse((await besides(home, 'local', 'status', '--json')).stdout) as { burned: string }).burned;

  it.each(sampleOf(['burnedInPart', 'taken', 'answered'] as const, 1))(
    'once a request is %s, burns each element once when it comes again',
    async (moment) => {
      const home = await initHome();
      const body = Array.from({ length: ELEMENTS }, (_, n) => ({
        type: 'WATCH_AD',
        proof: { n },
        burnAmount: 1,
        persistOnchain: false,
      }));
      const idempotencyKey = randomUUID();
      const dying = await serve(faulty(home, { signal: 'SIGKILL', when: MOMENTS[moment] }));
      const cut = await ask(dying.url + path, home.key, { body, idempotencyKey }).catch(() => undefined);
      expect([cut, (await dying.end('SIGTERM')).signal]).toEqual([undefined, 'SIGKILL']);
      // The dead server's work is free once its lease has expired.
      const next = await serve(faulty(home, { clockAheadMs: LEASE_MS }));
      const answer = await ask(next.url + path, home.key, { body, idempotencyKey });
      const result = (await answer.json()) as { success: { txHash: string }[]; errors: unknown[] };
      expect([answer.status, result.success?.length, result.errors?.length]).toEqual([200, ELEMENTS, 0]);
      expect(new Set(result.success.map(({ txHash }) => txHash)).size).toBe(ELEMENTS);
      await next.end('SIGTERM');
      expect(await burned(home)).toBe(String(ELEMENTS));
    },
  );
});
