/** At most once: idempotency keys, their owners, and recovery from a crash (contract, section 1.4). */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Api, By } from './api.js';
import { it } from './cases.js';
import { landedRecord, supplyOf } from './chain-reading.js';
import type { Scope } from './in-process-service.js';
import { aBurnRequest, aPipeline, approved, burnAction, burning, passToNextNoon } from './requests.js';

const UNIT = 1_000_000n;
/** The time after which another server takes over from a hanging one. */
const LEASE_MS = 15_000;
const DAY_MS = 86_400_000;

function pause() {
  let [letGo, arrive] = [(): void => undefined, (): void => undefined];
  const open = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const beforeSending = (): Promise<void> => {
    arrive();
    return open;
  };
  return { arrived, letGo, beforeSending };
}

const keyWith = async (
  { service }: Api,
  proofTypes: readonly string[] | null,
  ...scopes: Scope[]
): Promise<string> => (await service.createKey({ scopes, proofTypes })).key;

export function once(): void {
  it('contract 1.4: "optional on burn, init, execute (1 to 255 visible ASCII characters)"', async (api) => {
    const { project } = api;
    for (const key of ['!', '~', 'order/77#1', 'x'.repeat(255)]) {
      const request = aBurnRequest(1);
      (await api.burn(project, request, key)).done();
      expect((await api.burn(project, request, key)).replayed).toBe(true);
    }
    for (const key of ['', 'a b', 'x'.repeat(256)]) {
      (await api.burn(project, aBurnRequest(1), key)).refused(400, 'ERR_INVALID_REQUEST');
      (await api.initBatch(project, burning(1), key)).refused(400, 'ERR_INVALID_REQUEST');
      const execute = { batchId: randomUUID(), signedTx: 'AAAA' };
      const answer = await api.executeBatch(project, execute, key);
      expect(answer.refused(400, 'ERR_INVALID_REQUEST')).toContain('x-idempotency-key');
    }
  });

  it('contract 1.4: "Scope: project + operation + value" — another project or operation may use the same value', async (api) => {
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const [one, two] = [await api.register(), await api.register()];
    for (const project of [one, two]) expect((await api.burn(project, request, key)).replayed).toBe(false);
    expect((await api.burnBatch(one, [request], key)).replayed).toBe(false);
    expect((await api.initBatch(one, burning(1), key)).replayed).toBe(false);
    expect((await api.burn(one, request, key)).replayed).toBe(true);
  });

  it('contract 1.4: "An API key that replaces another one finds the same requests, so nothing runs twice." — a new API key of the project gets the first answer', async (api) => {
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const [old, fresh] = [await keyWith(api, null, 'burn'), await keyWith(api, null, 'burn')];
    const before = await supplyOf(api, api.project);
    const first = await api.burn(old, request, key);
    const again = await api.burn(fresh, request, key);
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    expect(before - (await supplyOf(api, api.project))).toBe(UNIT);
  });

  it('contract 1.4: "An API key gets a stored answer … only if it has the operation\'s scope and may use every proof type"', async (api) => {
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    (await api.burn(await keyWith(api, null, 'burn'), request, key)).done();
    const before = await supplyOf(api, api.project);
    const unscoped = await api.burn(await keyWith(api, null, 'airdrop'), request, key);
    unscoped.refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
    const otherTypes = await api.burn(await keyWith(api, ['WATCH_AD'], 'burn'), request, key);
    otherTypes.refused(400, 'ERR_INVALID_PROOF');
    expect(await supplyOf(api, api.project)).toBe(before);
  });

  it('contract 1.4: "Fingerprint: SHA-256 of the canonical body." — the order of keys does not count', async (api) => {
    const key = randomUUID();
    const first = await api.burn(api.project, aBurnRequest(1, { proof: { a: 1, b: { c: 2, d: 3 } } }), key);
    const { type, proof: _, burnAmount, persistOnchain } = aBurnRequest(1);
    const reordered = { persistOnchain, proof: { b: { d: 3, c: 2 }, a: 1 }, burnAmount, type };
    const again = await api.burn(api.project, reordered, key);
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    const spaced =
      '{ "type":"PRODUCT_BUY", "burnAmount": 1.0, "persistOnchain":false,\n"proof":{"a":1,"b":{"c":2e0,"d":3}} }';
    expect((await api.http.post('burn', api.project, spaced, { 'x-idempotency-key': key })).replayed).toBe(
      true,
    );
  });

  it('contract 1.3, 1.4: "ERR_IDEMPOTENCY_KEY_REUSED — the same key came with a different body" is 422', async (api) => {
    const { project } = api;
    const [key, request] = [randomUUID(), aBurnRequest(1, { proof: { n: 1 } })];
    (await api.burn(project, request, key)).done();
    (await api.burnBatch(project, [request], key)).done();
    const before = await supplyOf(api, project);
    for (const other of [
      { ...request, burnAmount: 2 },
      { ...request, persistOnchain: true },
      { ...request, type: 'WATCH_AD' },
      { ...request, proof: { n: '1' } },
      { ...request, proof: { n: 1, more: null } },
      { ...request, note: 'further properties are part of the body' },
    ]) {
      (await api.burn(project, other, key)).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
      (await api.burnBatch(project, [other], key)).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
    }
    (await api.burnBatch(project, [request, request], key)).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
    expect(await supplyOf(api, project)).toBe(before);
  });

  it('contract 1.3: "409 | ERR_DUPLICATE_IDEMPOTENCY_KEY | a request with the same key is still running; `retry-after: 1`"', async (api) => {
    const { arrived, letGo, beforeSending } = pause();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    await api.beside({ beforeSending }, async (slow) => {
      const first = slow.burn(api.project, request, key);
      await arrived;
      const second = await api.burn(api.project, request, key);
      second.refused(409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY');
      expect(second.http.headers['retry-after']).toBe('1');
      letGo();
      const repeated = await api.burn(api.project, request, (await first).done() && key);
      expect([repeated.replayed, repeated.done()]).toEqual([true, (await first).done()]);
    });
  });

  it('contract 1.3: "409 | ERR_DUPLICATE_IDEMPOTENCY_KEY" — of an init, and 422 for another body meanwhile', async (api) => {
    const project = await api.register();
    const { arrived, letGo, beforeSending } = pause();
    await api.beside({ beforeSending }, async (slow) => {
      const first = slow.initBatch(project, burning(1), 'key');
      await arrived;
      const second = await api.initBatch(project, burning(1), 'key');
      second.refused(409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY');
      expect(second.http.headers['retry-after']).toBe('1');
      (await api.initBatch(project, burning(2), 'key')).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
      letGo();
      const repeated = await api.initBatch(project, burning(1), (await first).done() && 'key');
      expect([repeated.replayed, repeated.done()]).toEqual([true, (await first).done()]);
    });
  });

  it('contract 1.4: "failed (400, 401, 403, 413, 429 …) | … a failed request does not use the key up"', async (api) => {
    const project = await api.register({ burnWalletTokens: '1' });
    const key = randomUUID();
    const airdropOnly = await keyWith(api, null, 'airdrop');
    const failing: readonly (readonly [By, unknown, number])[] = [
      [project, {}, 400],
      [project, aBurnRequest(1, { type: 'NOPE' }), 400],
      [project, aBurnRequest(0), 400],
      [project, { ...aBurnRequest(1), proof: [] }, 400],
      [project, aBurnRequest(5), 400],
      [null, aBurnRequest(1), 401],
      [airdropOnly, aBurnRequest(1), 403],
    ];
    for (const [by, body, status] of failing) expect((await api.burn(by, body, key)).status).toBe(status);
    const answer = await api.burn(project, aBurnRequest(0.5), key);
    expect([answer.status, answer.replayed]).toEqual([200, false]);
  });

  it('contract 1.4: "a failed request does not use the key up" — init', async (api) => {
    const project = await api.register({ vaultTokens: '1' });
    for (const body of [{}, burning(2), { pipelines: [aPipeline([burnAction(1)], { type: 'NOPE' })] }]) {
      expect((await api.initBatch(project, body, 'key')).status).toBe(400);
    }
    expect((await api.initBatch(project, burning(1), 'key')).done().batch.status).toBe('FINALIZED');
  });

  it('contract 1.4: a repeated init gives the batch it made, and makes no other', async (api) => {
    const project = await api.register();
    const request = burning(1);
    const first = await api.initBatch(project, request, 'key');
    expect(first.replayed).toBe(false);
    const height = await api.service.landedCount();
    const again = await api.initBatch(project, request, 'key');
    expect([again.http.bytes, again.replayed]).toEqual([first.http.bytes, true]);
    expect(await api.service.landedCount()).toBe(height);
    (await api.initBatch(project, burning(2), 'key')).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
  });

  it('contract 1.4: a repeated execute gives the result it came to', async (api) => {
    const project = await api.register();
    const request = approved(project, (await api.initBatch(project, burning(1))).done());
    const first = await api.executeBatch(project, request, 'key');
    const supply = await supplyOf(api, project);
    const again = await api.executeBatch(project, request, 'key');
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    expect(await supplyOf(api, project)).toBe(supply);
  });

  it('contract 1.4: "A UUID is one key in any case."', async (api) => {
    const project = await api.register();
    const [key, requests] = [randomUUID(), [aBurnRequest(1)]];
    const before = await supplyOf(api, project);
    const first = await api.burnBatch(project, requests, key);
    const again = await api.burnBatch(project, requests, key.toUpperCase());
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
    expect(before - (await supplyOf(api, project))).toBe(UNIT);
  });
}

/** Cases that advance time, so the service needs the test's clock. */
export function onceOverTime(): void {
  it('contract 1.4: "At most once, also after a crash" — a server that hangs is waited for, for a quarter of a minute', async (api) => {
    const project = await api.register();
    const { arrived, letGo, beforeSending } = pause();
    const [key, request, before] = [randomUUID(), aBurnRequest(1), await supplyOf(api, project)];
    await api.beside({ beforeSending }, async (hung) => {
      const first = hung.burn(project, request, key);
      await arrived;
      api.service.passTime(LEASE_MS - 5_000);
      (await api.burn(project, request, key)).refused(409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY');
      api.service.passTime(5_000);
      const taken = await api.burn(project, request, key);
      expect([taken.status, taken.replayed]).toEqual([200, false]);
      // The server now sends the same transaction, which cannot land twice.
      letGo();
      expect((await first).status).toBe(409);
      const repeated = await api.burn(project, request, key);
      expect([repeated.replayed, repeated.done()]).toEqual([true, taken.done()]);
    });
    expect(before - (await supplyOf(api, project))).toBe(UNIT);
  });

  it('contract 1.4: "At most once, also after a crash" — the time counts from the last that was stored', async (api) => {
    const project = await api.register();
    const [hold, key] = [pause(), randomUUID()];
    const beforeSending = async (nth: number): Promise<void> => {
      api.service.passTime(LEASE_MS - 4_000);
      if (nth === 2) await hold.beforeSending();
    };
    // More than one commit holds.
    const requests = Array.from({ length: 270 }, (_, order) => aBurnRequest(1, { proof: { order } }));
    const before = await supplyOf(api, project);
    await api.beside({ beforeSending }, async (slow) => {
      const first = slow.burnBatch(project, requests, key);
      await hold.arrived;
      (await api.burnBatch(project, requests, key)).refused(409, 'ERR_DUPLICATE_IDEMPOTENCY_KEY');
      hold.letGo();
      expect((await first).done().success).toHaveLength(270);
    });
    expect(before - (await supplyOf(api, project))).toBe(270n * UNIT);
  });

  for (const landed of [false, true])
    it(`contract 1.4: "At most once, also after a crash" — of a burn that ${landed ? 'had landed' : 'was not sent yet'}`, async (api) => {
      const project = await api.register();
      const [key, requests] = [randomUUID(), [aBurnRequest(1), aBurnRequest(2)]];
      const before = await supplyOf(api, project);
      await api.beside({ dies: landed ? 'after landing' : 'before sending' }, async (dead) => {
        expect((await dead.burnBatch(project, requests, key)).status).toBeGreaterThanOrEqual(500);
      });
      expect(before - (await supplyOf(api, project))).toBe(landed ? 3n * UNIT : 0n);
      const { success } = (await api.burnBatch(project, requests, key)).done();
      expect(success).toHaveLength(2);
      expect(before - (await supplyOf(api, project))).toBe(3n * UNIT);
      const landings = success.map(({ txHash }) => landedRecord(api, txHash));
      expect((await Promise.all(landings)).map(({ error }) => error)).toEqual([null, null]);
    });

  for (const then of ['others went on', 'their blockhash expired'])
    it(`contract 1.4: "At most once, also after a crash" — of burns that were not sent before ${then}`, async (api) => {
      const project = await api.register();
      const [key, requests, early] = [randomUUID(), [aBurnRequest(1), aBurnRequest(2)], [] as Uint8Array[]];
      const beforeSending = async (_: number, sent: readonly Uint8Array[]) => void early.push(...sent);
      await api.beside({ dies: 'before sending', beforeSending }, async (dead) => {
        expect((await dead.burnBatch(project, requests, key)).status).toBe(500);
      });
      if (then === 'others went on') (await api.burnBatch(project, Array(300).fill(aBurnRequest(1)))).done();
      else await api.service.expireBlockhashes();
      const before = await supplyOf(api, project);
      expect((await api.burnBatch(project, requests, key)).done().success).toHaveLength(2);
      // The bytes of the dead server arrive late.
      for (const bytes of early) await api.service.land(bytes);
      expect([early.length, before - (await supplyOf(api, project))]).toEqual([2, 3n * UNIT]);
    });

  for (const [what, times, status] of [
    ['expires before it is sent, twice', 2, 200],
    ['the chain does not know', 0, 503],
  ] as const)
    it(`contract 1.4: "At most once, also after a crash" — of a burn whose blockhash ${what}`, async (api) => {
      const project = await api.register();
      const [key, request, signed] = [randomUUID(), aBurnRequest(1), [] as Uint8Array[]];
      const beforeSending = async (nth: number, sent: readonly Uint8Array[]): Promise<void> => {
        signed.push(...sent);
        if (nth <= times) await api.service.expireBlockhashes();
      };
      const before = await supplyOf(api, project);
      const chain = times === 0 ? { chain: 'forgetful' as const } : {};
      await api.beside({ ...chain, beforeSending }, async (other) => {
        expect((await other.burn(project, request, key)).status).toBe(status);
      });
      (await api.burn(project, request, key)).done();
      for (const bytes of signed) await api.service.land(bytes);
      expect([signed.length > times, before - (await supplyOf(api, project))]).toEqual([true, UNIT]);
    });

  it('contract 1.4: "Answers are kept at least 30 days" — also past a clean-up', async (api) => {
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const first = await api.burn(api.project, request, key);
    api.service.passTime(30 * DAY_MS - 60_000);
    await api.service.reconcile();
    const again = await api.burn(api.project, request, key);
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
  });

  it('contract 1.4: "A pending request never expires; the service brings it to its outcome."', async (api) => {
    const project = await api.register();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const before = await supplyOf(api, project);
    await api.beside({ dies: 'after landing' }, async (dead) => {
      expect((await dead.burn(project, request, key)).status).toBeGreaterThanOrEqual(500);
    });
    api.service.passTime(40 * DAY_MS);
    await api.service.reconcile();
    (await api.burn(project, request, key)).done();
    expect(before - (await supplyOf(api, project))).toBe(UNIT);
  });

  it('contract 1.4: "by a clock that cannot run ahead of the chain\'s" — an engine in the far future forgets nothing', async (api) => {
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const first = await api.burn(api.project, request, key);
    await api.service.reconcile(60 * DAY_MS);
    const again = await api.burn(api.project, request, key);
    expect([again.done(), again.replayed]).toEqual([first.done(), true]);
  });

  it('contract 1.4: "Caps count by UTC day." — the next day has a cap of its own', async (api) => {
    const project = await api.register({ dailyBurn: '10' });
    (await api.burn(project, aBurnRequest(10))).done();
    (await api.burn(project, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    passToNextNoon(api);
    (await api.burn(project, aBurnRequest(10))).done();
    (await api.burn(project, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
  });
}
