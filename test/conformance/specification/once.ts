/** At most once: idempotency keys, whose they are, and what survives a crash (contract, section 1.4). */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { createInstances } from '../../../src/compose/instances.js';
import type { Scope } from '../../../src/values/schemas.js';
import { replacing } from '../../support/doubles.js';
import { aBurnRequest, aPipeline, burnAction, engineBeside } from '../../support/engine.js';
import { supplyOf } from '../../support/service.js';
import type { By, Way } from '../../support/ways.js';
import { approved, burning } from './lifecycle.js';

const UNIT = 1_000_000n;
const DAY_MS = 86_400_000;

/** A chain that takes nothing until it is let go. */
function pausedChain(way: Way) {
  let letGo = (): void => undefined;
  const open = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const waiting = async (): Promise<void> => {
    arrive();
    await open;
  };
  const { chain } = way.test;
  return {
    arrived,
    letGo,
    chain: replacing(chain, {
      submit: async (transactions) => {
        await waiting();
        return chain.submit(transactions);
      },
      submitBundles: async (bundles) => {
        await waiting();
        return chain.submitBundles(bundles);
      },
    }),
  };
}

/** An engine that dies when it submits: before its transactions are taken, or after. */
async function dying(way: Way, afterLanding: boolean, use: (way: Way) => Promise<void>): Promise<void> {
  const instances = createInstances();
  let dead = false;
  const { chain, store } = way.test;
  const die = (): never => {
    dead = true;
    instances.release();
    throw new Error('killed');
  };
  const parts = {
    instances,
    chain: replacing(chain, {
      submit: async (transactions) => {
        if (afterLanding) await chain.submit(transactions);
        return die();
      },
    }),
    // Nothing that it would still write may land.
    store: replacing(store, {
      transaction: (work) => (dead ? Promise.reject(new Error('killed')) : store.transaction(work)),
    }),
  };
  await way.beside(parts, use);
}

const keyWith = async (
  { test }: Way,
  proofTypes: readonly string[] | null,
  ...scopes: Scope[]
): Promise<string> => (await test.engine.createKey({ scopes, proofTypes })).key;

export function once(under: () => Way): void {
  it('contract 1.4: "optional on burn, init, execute (1 to 255 visible ASCII characters)"', async () => {
    const way = under();
    const { project } = way.test;
    for (const key of ['!', '~', 'order/77#1', 'x'.repeat(255)]) {
      const request = aBurnRequest(1);
      (await way.burn(project, request, key)).done();
      expect((await way.burn(project, request, key)).replayed).toBe(true);
    }
    for (const key of ['', 'a b', 'x'.repeat(256)]) {
      (await way.burn(project, aBurnRequest(1), key)).refused(400, 'ERR_INVALID_REQUEST');
      (await way.initBatch(project, burning(1), key)).refused(400, 'ERR_INVALID_REQUEST');
    }
  });

  it('contract 1.4: "Scope: project + operation + value" — another project or operation may use the same value', async () => {
    const way = under();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const [one, two] = [await way.register(), await way.register()];
    for (const project of [one, two]) expect((await way.burn(project, request, key)).replayed).toBe(false);
    expect((await way.burnBatch(one, [request], key)).replayed).toBe(false);
    expect((await way.initBatch(one, burning(1), key)).replayed).toBe(false);
    expect((await way.burn(one, request, key)).replayed).toBe(true);
  });

  it('contract 1.4: "(a rotated key repeats nothing …)" — a new API key of the project gets the first answer', async () => {
    const way = under();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const [old, fresh] = [await keyWith(way, null, 'burn'), await keyWith(way, null, 'burn')];
    const before = await supplyOf(way, way.test.project);
    const first = await way.burn(old, request, key);
    const again = await way.burn(fresh, request, key);
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    expect(before - (await supplyOf(way, way.test.project))).toBe(UNIT);
  });

  it('contract 1.4: "a replay is given only to a key with the operation\'s scope and proof types"', async () => {
    const way = under();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    (await way.burn(await keyWith(way, null, 'burn'), request, key)).done();
    const before = await supplyOf(way, way.test.project);
    const unscoped = await way.burn(await keyWith(way, null, 'airdrop'), request, key);
    unscoped.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
    const otherTypes = await way.burn(await keyWith(way, ['WATCH_AD'], 'burn'), request, key);
    otherTypes.refused(400, 'ERR_INVALID_PROOF');
    expect(await supplyOf(way, way.test.project)).toBe(before);
  });

  it('contract 1.4: "Fingerprint: SHA-256 of the canonical body." — the order of keys does not count', async () => {
    const way = under();
    const key = randomUUID();
    const first = await way.burn(
      way.test.project,
      aBurnRequest(1, { proof: { a: 1, b: { c: 2, d: 3 } } }),
      key,
    );
    const { type, proof: _, burnAmount, persistOnchain } = aBurnRequest(1);
    const reordered = { persistOnchain, proof: { b: { d: 3, c: 2 }, a: 1 }, burnAmount, type };
    const again = await way.burn(way.test.project, reordered, key);
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    if (way.http === undefined) return;
    const spaced =
      '{ "type":"PRODUCT_BUY", "burnAmount": 1.0, "persistOnchain":false,\n"proof":{"a":1,"b":{"c":2e0,"d":3}} }';
    expect(
      (await way.http.post('burn', way.test.project, spaced, { 'x-idempotency-key': key })).replayed,
    ).toBe(true);
  });

  it('contract 1.3, 1.4: "ERR_IDEMPOTENCY_KEY_REUSED — the same key came with a different body" is 422', async () => {
    const way = under();
    const { project } = way.test;
    const [key, request] = [randomUUID(), aBurnRequest(1, { proof: { n: 1 } })];
    (await way.burn(project, request, key)).done();
    (await way.burnBatch(project, [request], key)).done();
    const before = await supplyOf(way, project);
    for (const other of [
      { ...request, burnAmount: 2 },
      { ...request, persistOnchain: true },
      { ...request, type: 'WATCH_AD' },
      { ...request, proof: { n: '1' } },
      { ...request, proof: { n: 1, more: null } },
    ]) {
      (await way.burn(project, other, key)).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
      (await way.burnBatch(project, [other], key)).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
    }
    (await way.burnBatch(project, [request, request], key)).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
    expect(await supplyOf(way, project)).toBe(before);
  });

  it('contract 1.3: "409 | ERR_DUPLICATE_IDEMPOTENCY_KEY | the same key is in use by a request still running; `retry-after: 1`"', async () => {
    const way = under();
    const { arrived, letGo, chain } = pausedChain(way);
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    await way.beside({ chain, instances: createInstances() }, async (slow) => {
      const first = slow.burn(way.test.project, request, key);
      await arrived;
      const second = await way.burn(way.test.project, request, key);
      second.refused(409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY');
      if (second.http !== undefined) expect(second.http.headers['retry-after']).toBe('1');
      letGo();
      const repeated = await way.burn(way.test.project, request, (await first).done() && key);
      expect([repeated.replayed, repeated.done()]).toEqual([true, (await first).done()]);
    });
  });

  it('contract 1.4: "A failed request (400, 401, 403, 413, 429 …) does not use the key up."', async () => {
    const way = under();
    const project = await way.register({ burnWalletTokens: '1' });
    const key = randomUUID();
    const airdropOnly = await keyWith(way, null, 'airdrop');
    const failing: readonly (readonly [By, unknown, number])[] = [
      [project, {}, 400],
      [project, aBurnRequest(1, { type: 'NOPE' }), 400],
      [project, aBurnRequest(5), 400],
      [null, aBurnRequest(1), 401],
      [airdropOnly, aBurnRequest(1), 403],
    ];
    for (const [by, body, status] of failing) expect((await way.burn(by, body, key)).status).toBe(status);
    const answer = await way.burn(project, aBurnRequest(0.5), key);
    expect([answer.status, answer.replayed]).toEqual([200, false]);
  });

  it('contract 1.4: "A failed request … does not use the key up." — init', async () => {
    const way = under();
    const project = await way.register({ vaultTokens: '1' });
    for (const body of [{}, burning(2), { pipelines: [aPipeline([burnAction(1)], { type: 'NOPE' })] }]) {
      expect((await way.initBatch(project, body, 'key')).status).toBe(400);
    }
    expect((await way.initBatch(project, burning(1), 'key')).done().batch.status).toBe('FINALIZED');
  });

  it('contract 1.4: a repeated init gives the batch it made, and makes no other', async () => {
    const way = under();
    const project = await way.register();
    const request = burning(1);
    const first = await way.initBatch(project, request, 'key');
    const height = await way.test.chain.blockHeight();
    const again = await way.initBatch(project, request, 'key');
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    expect(await way.test.chain.blockHeight()).toBe(height);
    (await way.initBatch(project, burning(2), 'key')).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
  });

  it('contract 1.4: a repeated execute gives the result it came to', async () => {
    const way = under();
    const project = await way.register();
    const request = approved(project, (await way.initBatch(project, burning(1))).done());
    const first = await way.executeBatch(project, request, 'key');
    const supply = await supplyOf(way, project);
    const again = await way.executeBatch(project, request, 'key');
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    expect(await supplyOf(way, project)).toBe(supply);
  });

  it.each([
    ['was not sent yet', false],
    ['had landed', true],
  ])('contract 1.4: "At most once even across a crash" — of a burn that %s', async (_name, landed) => {
    const way = under();
    const project = await way.register();
    const [key, requests] = [randomUUID(), [aBurnRequest(1), aBurnRequest(2)]];
    const before = await supplyOf(way, project);
    await dying(way, landed, async (dead) => {
      expect((await dead.burnBatch(project, requests, key)).status).toBeGreaterThanOrEqual(500);
    });
    expect(before - (await supplyOf(way, project))).toBe(landed ? 3n * UNIT : 0n);
    const { success } = (await way.burnBatch(project, requests, key)).done();
    expect(success).toHaveLength(2);
    expect(before - (await supplyOf(way, project))).toBe(3n * UNIT);
    const [records] = await Promise.all([way.test.chain.lookUp(success.map(({ txHash }) => txHash))]);
    expect(records.map((record) => record?.error)).toEqual([null, null]);
  });

  it('contract 1.4: "Kept at least 30 days" — also past a clean-up', async () => {
    const way = under();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const first = await way.burn(way.test.project, request, key);
    way.clock.pass(30 * DAY_MS - 60_000);
    await way.test.engine.reconcile();
    const again = await way.burn(way.test.project, request, key);
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
  });

  it('contract 1.4: "what is pending never expires, it is settled"', async () => {
    const way = under();
    const project = await way.register();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const before = await supplyOf(way, project);
    await dying(way, true, async (dead) => {
      expect((await dead.burn(project, request, key)).status).toBeGreaterThanOrEqual(500);
    });
    way.clock.pass(40 * DAY_MS);
    await way.test.engine.reconcile();
    (await way.burn(project, request, key)).done();
    expect(before - (await supplyOf(way, project))).toBe(UNIT);
  });

  it('contract 1.4: "judged by a clock that cannot run ahead of the chain\'s" — an engine in the far future forgets nothing', async () => {
    const way = under();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const first = await way.burn(way.test.project, request, key);
    const ahead = { nowMs: () => way.clock.nowMs() + 60 * DAY_MS };
    await engineBeside(way.test, { clock: ahead }).reconcile();
    const again = await way.burn(way.test.project, request, key);
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
  });

  it('contract 1.4: "Daily caps hold for the UTC day on which things land" — the next day has a cap of its own', async () => {
    const way = under();
    const project = await way.register({ dailyBurn: '10' });
    (await way.burn(project, aBurnRequest(10))).done();
    (await way.burn(project, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    way.clock.passToNextNoon();
    (await way.burn(project, aBurnRequest(10))).done();
    (await way.burn(project, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
  });

  it('contract 1.4: "A uuid is one key in any case."', async () => {
    const way = under();
    const project = await way.register();
    const [key, requests] = [randomUUID(), [aBurnRequest(1)]];
    const before = await supplyOf(way, project);
    const first = await way.burnBatch(project, requests, key);
    const again = await way.burnBatch(project, requests, key.toUpperCase());
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    expect(before - (await supplyOf(way, project))).toBe(UNIT);
  });
}
