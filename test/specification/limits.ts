/** Default rate limits, and replays beyond them (service specification, section 8; contract, sections 1.4 and 1.5). */
import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Answer, Api, By } from './api.js';
import { it } from './cases.js';
import { supplyOf } from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { aBurnRequest, aPipeline, burnAction } from './requests.js';

type Ask = (api: Api, by: Project | string) => Promise<Answer>;

/** Requests that count against the limit, as the header tells it, and change nothing. */
const LIMITS: readonly (readonly [row: string, policy: string, ask: Ask])[] = [
  [
    '8: "POST /v1/tokenomics/burn | 10 requests per second per API key"',
    '"burn";q=10;w=1',
    (api, by) => api.burn(by, aBurnRequest(1, { type: 'NOPE' })),
  ],
  [
    '8: "POST /v1/tokenomics/burn-batch | 1 request per 10 seconds per API key (limit prefix `api-key-burn`)"',
    '"api-key-burn";q=1;w=10',
    (api, by) => api.burnBatch(by, [aBurnRequest(1, { type: 'NOPE' })]),
  ],
  [
    '8: "GET /v1/flywheel/batch/{batchId} | 10 requests per second per API key"',
    '"batch-status";q=10;w=1',
    (api, by) => api.getBatch(by, randomUUID()),
  ],
  [
    '8: "GET /v1/flywheel/batch/current | 10 requests per second per API key"',
    '"batch-current";q=10;w=1',
    (api, by) => api.currentBatch(by),
  ],
  [
    'contract 1.5: "init and execute 10/min each" — init',
    '"batch-init";q=10;w=60',
    (api, by) => api.initBatch(by, {}),
  ],
  [
    'contract 1.5: "init and execute 10/min each" — execute',
    '"batch-execute";q=10;w=60',
    (api, by) => api.executeBatch(by, {}),
  ],
];

const numberIn = (header: string | undefined, parameter: string): number =>
  Number(new RegExp(`;${parameter}=(\\d+)`).exec(header ?? '')?.[1]);

const many = (count: number, ask: () => Promise<Answer>): Promise<readonly Answer[]> =>
  Promise.all(Array.from({ length: count }, ask));

const secondKey = async ({ service }: Api): Promise<string> =>
  (await service.createKey({ scopes: ['burn', 'airdrop'], proofTypes: null })).key;

/** Limits of a server without configured limits. */
export function rateLimits(): void {
  for (const [row, policy, ask] of LIMITS) {
    it(row, async (api) => {
      const [allowed, windowSeconds] = [numberIn(policy, 'q'), numberIn(policy, 'w')];
      await api.beside({ rateLimits: {} }, async (limited) => {
        const project = await limited.register();
        const answers = await many(allowed + 5, () => ask(limited, project));
        const refused = answers.filter(({ status }) => status === 429);
        expect(refused).toHaveLength(5);
        for (const { http } of answers) {
          expect(http.headers['ratelimit-policy']).toBe(policy);
          expect(numberIn(http.headers['ratelimit'], 't')).toBeLessThanOrEqual(windowSeconds);
        }
        for (const answer of refused) answer.refused(429, 'ERR_RATE_LIMIT_EXCEEDED');
      });
    });
  }

  it('8: "… per API key" — another key of the same project has a limit of its own', async (api) => {
    await api.beside({ rateLimits: {} }, async (limited) => {
      const keys = [await secondKey(api), await secondKey(api)];
      for (const key of keys) {
        const statuses = (await many(2, () => limited.burnBatch(key, [aBurnRequest(1)]))).map(
          ({ status }) => status,
        );
        expect(statuses.sort()).toEqual([200, 429]);
      }
    });
  });

  it('contract 1.5: "(per API key and operation)" — one operation that is used up leaves the others', async (api) => {
    await api.beside({ rateLimits: {} }, async (limited) => {
      const project = await limited.register();
      (await limited.burnBatch(project, [aBurnRequest(1)])).done();
      const refused = await limited.burnBatch(project, [aBurnRequest(1)]);
      expect(refused.refused(429, 'ERR_RATE_LIMIT_EXCEEDED')).toMatch(/1\b.*10/);
      const waitSeconds = Number(refused.http.headers['retry-after']);
      expect(waitSeconds >= 1 && waitSeconds <= 10).toBe(true);
      (await limited.getBatch(project, randomUUID())).refused(404, 'ERR_BATCH_NOT_FOUND');
      (await limited.currentBatch(project)).done();
      (await limited.burn(project, aBurnRequest(1))).done();
    });
  });

  it('contract 1.5: "A 429 also has `retry-after` in seconds" — after which the request is taken', async (api) => {
    await api.beside({ rateLimits: {} }, async (limited) => {
      const project = await limited.register();
      await many(10, () => limited.currentBatch(project));
      const answer = await limited.currentBatch(project);
      answer.refused(429, 'ERR_RATE_LIMIT_EXCEEDED');
      const waitSeconds = Number(answer.http.headers['retry-after']);
      expect(waitSeconds).toBe(1);
      api.service.passTime(waitSeconds * 1_000);
      (await limited.currentBatch(project)).done();
    });
  });

  it('contract 1.5: `RateLimit` counts down to nothing', async (api) => {
    await api.beside({ rateLimits: {} }, async (limited) => {
      const project = await limited.register();
      const left = (await many(10, () => limited.initBatch(project, {}))).map(({ http }) =>
        numberIn(http.headers['ratelimit'], 'r'),
      );
      expect(left.sort((a, b) => b - a)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    });
  });

  it('contract 1.5: "A refused request does nothing and does not use up its idempotency key."', async (api) => {
    const project = await api.register();
    const [key, request] = [randomUUID(), aBurnRequest(1)];
    const once = { name: 'burn', points: 1, windowSeconds: 60 };
    const before = await supplyOf(api, project);
    await api.beside({ rateLimits: { burn: once } }, async (limited) => {
      (await limited.burn(project, aBurnRequest(1))).done();
      (await limited.burn(project, request, key)).refused(429, 'ERR_RATE_LIMIT_EXCEEDED');
    });
    expect(before - (await supplyOf(api, project))).toBe(1_000_000n);
    // Any body may use the key, because nothing was stored under it.
    expect((await api.burn(project, aBurnRequest(2), key)).replayed).toBe(false);
  });

  describe('repeats', repeats);
}

const ONE_A_MINUTE = { points: 1, windowSeconds: 60 };
const RATE_OF_ONE = {
  burn: { name: 'burn', ...ONE_A_MINUTE },
  burnBatch: { name: 'api-key-burn', ...ONE_A_MINUTE },
  initBatch: { name: 'batch-init', ...ONE_A_MINUTE },
  executeBatch: { name: 'batch-execute', ...ONE_A_MINUTE },
};

const ONE_PIPELINE = { pipelines: [aPipeline([burnAction(1)])] };
const A_BURN = aBurnRequest(1);

function repeats(): void {
  it('4.2: "the original result is returned" — a second, identical burn-batch within the 10 seconds is a repeat, not 429', async (api) => {
    await api.beside({ rateLimits: {} }, async (limited) => {
      const project = await limited.register();
      const [key, requests] = [randomUUID(), [aBurnRequest(1), aBurnRequest(2, { type: 'NOPE' })]];
      const before = await supplyOf(api, project);
      const first = await limited.burnBatch(project, requests, key);
      const again = await limited.burnBatch(project, requests, key);
      expect([again.done(), again.replayed]).toEqual([first.done(), true]);
      expect(again.http.bytes).toEqual(first.http.bytes);
      expect(again.http.headers['idempotent-replayed']).toBe('true');
      expect(before - (await supplyOf(api, project))).toBe(1_000_000n);
      // A request that is no replay is still refused.
      (await limited.burnBatch(project, requests)).refused(429, 'ERR_RATE_LIMIT_EXCEEDED');
    });
  });

  for (const [what, ask] of [
    ['init', (api: Api, by: By, key: string) => api.initBatch(by, ONE_PIPELINE, key)],
    ['4.1: a burn', (api: Api, by: By, key: string) => api.burn(by, A_BURN, key)],
  ] as const)
    it(`contract 1.5: "A repeat of a stored success is answered beyond the limit too" — ${what}`, async (api) => {
      await api.beside({ rateLimits: RATE_OF_ONE }, async (limited) => {
        const project = await limited.register();
        const key = randomUUID();
        const first = await ask(limited, project, key);
        const again = await ask(limited, project, key);
        expect([again.done(), again.replayed]).toEqual([first.done(), true]);
        (await ask(limited, project, randomUUID())).refused(429, 'ERR_RATE_LIMIT_EXCEEDED');
      });
    });

  it('contract 1.5: "(repeats: ten times as wide)" — and not wider', async (api) => {
    await api.beside({ rateLimits: RATE_OF_ONE }, async (limited) => {
      const project = await limited.register();
      const [key, request] = [randomUUID(), [aBurnRequest(1)]];
      (await limited.burnBatch(project, request, key)).done();
      const statuses = (await many(25, () => limited.burnBatch(project, request, key))).map(
        ({ status }) => status,
      );
      expect([...new Set(statuses)].sort()).toEqual([200, 429]);
      expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    });
  });

  it('contract 1.5: beyond the limit, what cannot be a repeat is refused before its body is read', async (api) => {
    const currentBatch = { name: 'batch-current', ...ONE_A_MINUTE };
    await api.beside({ rateLimits: { ...RATE_OF_ONE, currentBatch } }, async ({ http }) => {
      const { project } = api;
      (await http.post('burn', project, JSON.stringify(aBurnRequest(1)))).done();
      for (const key of [{}, { 'x-idempotency-key': 'with space' }])
        (await http.post('burn', project, '{"broken', key)).refused(429, 'ERR_RATE_LIMIT_EXCEEDED');
      const headers = { 'x-service-api-key': project.key, 'x-idempotency-key': 'a' };
      const current = () => http.send('GET', '/v1/flywheel/batch/current', { headers });
      expect([(await current()).status, (await current()).status]).toEqual([200, 429]);
    });
  });

  it('contract 1.5: beyond the limit, what may be a repeat is judged like every request', async (api) => {
    const airdrop = (await api.service.createKey({ scopes: ['airdrop'], proofTypes: null })).key;
    await api.beside({ rateLimits: RATE_OF_ONE }, async ({ http }) => {
      const key = { 'x-idempotency-key': randomUUID() };
      const send = (by: By, body: string, headers = {}) =>
        http.post('burn', by, body, { ...key, ...headers });
      const [text, other] = [1, 2].map((amount) => JSON.stringify(aBurnRequest(amount))) as [string, string];
      (await send(api.project, text)).done();
      (await send(api.project, '{"broken')).refused(400, 'ERR_INVALID_REQUEST');
      (await send(api.project, text, { 'content-type': 'text/plain' })).refused(
        415,
        'ERR_UNSUPPORTED_MEDIA_TYPE',
      );
      (await send(api.project, other)).refused(422, 'ERR_IDEMPOTENCY_KEY_REUSED');
      for (let time = 0; time < 2; time += 1)
        (await send(airdrop, text)).refused(403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
    });
  });

  it('contract 1.4: beyond the limit a repeat is given only to a key that may have it', async (api) => {
    await api.beside({ rateLimits: RATE_OF_ONE }, async (limited) => {
      const [key, request] = [randomUUID(), aBurnRequest(1)];
      const mine = await secondKey(api);
      (await limited.burn(mine, request, key)).done();
      (await limited.burn(await limited.register(), request, key)).done();
      (await limited.burn(null, request, key)).refused(401, 'ERR_UNAUTHORIZED');
      expect((await limited.burn(mine, request, key)).replayed).toBe(true);
    });
  });
}
