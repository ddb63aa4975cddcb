import { describe, expect, it } from 'vitest';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { fakeService, GOOD_KEY } from '../../support/fake-service.js';
import { engineOf, type RunningServer, startServer } from '../../support/http.js';
import { EXAMPLES } from '../../support/wire-examples.js';

const BURN = JSON.stringify(EXAMPLES.burn.request);
const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = { 'x-service-api-key': GOOD_KEY };

describe('service routes', () => {
  const open = async (
    ready: () => Promise<void>,
    use: (server: RunningServer) => Promise<void>,
  ): Promise<void> => {
    const fake = fakeService();
    // Over the limit only replays are looked up, and here every request is one.
    fake.answer('burn', ({ call }) => ({
      value: EXAMPLES.burn.response,
      meta: { replayed: call.repeatOnly === true },
    }));
    const server = await startServer(
      {
        engine: {
          ...engineOf(fake.service),
          ready,
          state: async () => ({
            batches: { AVAILABLE_TO_QUEUE: 0, FINALIZED: 3, EXECUTED: 1, FAILED: 0 },
            ...{
              unfinished: { burns: 0, 'set-up': 0, execution: 0, closing: 0 },
              oldestSeconds: 0,
              gaps: 0,
              wallets: null,
            },
          }),
        },
      },
      { rates: { burn: { points: 1, windowSeconds: 60 } } },
    );
    try {
      await use(server);
    } finally {
      await server.closeGracefully(1_000);
    }
  };

  it('is alive always, and ready when store and chain answer', async () => {
    let down: Error | undefined;
    await open(
      async () => {
        if (down !== undefined) throw down;
      },
      async ({ url }) => {
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
        expect((await fetch(`${url}/readyz`)).status).toBe(200);
        const cause = new FlywheelError('ERR_STORE_UNAVAILABLE', 'The store at 10.0.0.7 is away.');
        const behind = new FlywheelError('ERR_STORE_BEHIND', 'No project is written.');
        for (const [error, code, message] of [
          [new FlywheelError('ERR_UNAVAILABLE', 'No node at 10.0.0.7.'), 'ERR_UNAVAILABLE', 'The chain'],
          [cause, 'ERR_UNAVAILABLE', 'The store'],
          [new FlywheelError('ERR_UNAVAILABLE', 'Late.', { cause }), 'ERR_UNAVAILABLE', 'The store'],
          [behind, 'ERR_STORE_BEHIND', 'No project is written.'],
        ] as const) {
          down = error;
          const response = await fetch(`${url}/readyz`);
          expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
          const text = await response.text();
          expect(JSON.parse(text)).toEqual({ error: code, message: expect.stringContaining(message) });
          expect(text).not.toContain('10.0.0.7');
        }
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
      },
    );
  });

  it('counts requests, burns and batches', async () => {
    await open(
      async () => undefined,
      async ({ url }) => {
        const init = { method: 'POST', body: BURN, headers: { ...KEY, ...JSON_TYPE } };
        await fetch(`${url}/v1/tokenomics/burn`, init);
        await fetch(`${url}/v1/tokenomics/burn`, init);
        const headers = { ...init.headers, 'x-idempotency-key': 'a' };
        await fetch(`${url}/v1/tokenomics/burn`, { ...init, headers });
        const text = await (await fetch(`${url}/metrics`)).text();
        for (const line of [
          'flywheel_http_requests_total{operation="burn",status="200"} 2',
          'flywheel_http_requests_total{operation="burn",status="429"} 1',
          'flywheel_burns_total{result="success"} 1',
          'flywheel_batches{status="FINALIZED"} 3',
          'flywheel_http_requests_running 0',
        ]) {
          expect(text).toContain(line);
        }
        expect(text).toMatch(
          /flywheel_http_request_duration_seconds_bucket\{le="0\.005",operation="burn"\} \d/,
        );
      },
    );
  });

  it('serves its description as OpenAPI', async () => {
    await open(
      async () => undefined,
      async ({ url }) => {
        const document = (await (await fetch(`${url}/openapi.json`)).json()) as { openapi: string };
        expect(document.openapi).toBe('3.1.0');
      },
    );
  });
});
