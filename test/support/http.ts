/** An HTTP server on a free loopback port with its log, and a client to it. */

import { onTestFinished } from 'vitest';
import { createRemoteService, type RemoteServiceDeps } from '../../src/client/remote-service.js';
import { OPERATIONS } from '../../src/contract/operations.js';
import type { ServedEngine } from '../../src/contract/served-engine.js';
import { callOperation, type Service } from '../../src/contract/service.js';
import { createHttpServer } from '../../src/http/app.js';
import { createLog } from '../../src/http/log.js';
import { createMetrics } from '../../src/http/metrics.js';
import type { HttpServerDeps, HttpServerOptions } from '../../src/http/options.js';
import { createMemoryCounts } from '../../src/http/rate-limit.js';
import { randomIds } from '../../src/values/ids.js';
import type { Secret } from '../../src/values/secret.js';
import { systemClock } from '../../src/values/time.js';
import { fakeAuthenticate } from './fake-service.js';
import { type StubAnswer, startStub } from './http-stub.js';

export type RunningServer = Awaited<ReturnType<typeof startServer>>;

const WIDE_RATE_LIMITS: NonNullable<HttpServerOptions['rates']> = Object.fromEntries(
  Object.values(OPERATIONS).map(({ id }) => [id, { points: 1_000_000, windowSeconds: 1 }]),
);

export const engineOf = (
  service: Service,
  known: (credential: Secret | null) => Promise<{ readonly keyId: string }> = fakeAuthenticate,
): ServedEngine => ({
  authenticate: async (operation, { credential }) => ({
    ...(await known(credential)),
    requireScope: () => undefined,
    perform: (input, call) => callOperation(service, operation, input, call),
  }),
  ready: async () => undefined,
  state: () => Promise.reject(new Error('There is no state.')),
});

/** Rate limits are wide and idle connections close with the server, unless given. */
export async function startServer(
  { service, ...deps }: Partial<HttpServerDeps & { readonly service: Service }>,
  options: HttpServerOptions = {},
) {
  const logLines: string[] = [];
  const server = await createHttpServer(
    {
      engine: engineOf(service as Service),
      metrics: await createMetrics('0.0.0'),
      rateCounts: createMemoryCounts(),
      log: createLog({ level: 'trace', stream: { write: (line) => logLines.push(line) } }),
      ...deps,
    },
    { rates: WIDE_RATE_LIMITS, ...options, limits: { drainIdleMs: 0, ...options.limits } },
  );
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return { ...server, url, port: Number(new URL(url).port), logLines };
}

/** A client whose sleeps return at once and are recorded, unless given. */
export function remoteClient(baseUrl: string, deps: Partial<RemoteServiceDeps> = {}) {
  const waits: number[] = [];
  const lines: string[] = [];
  const service = createRemoteService({
    baseUrl,
    clock: systemClock,
    random: () => 0.5,
    ids: randomIds,
    sleep: async (ms) => void waits.push(ms),
    onHttpLog: (line) => lines.push(line),
    ...deps,
  });
  return { service, waits, lines };
}

/** Our client before a server with scripted answers; both are closed with the test. */
export async function clientTo(answer: StubAnswer, deps: Partial<RemoteServiceDeps> = {}) {
  const stub = await startStub(answer);
  const warnings: string[] = [];
  const client = remoteClient(stub.url, { onWarning: (text) => warnings.push(text), ...deps });
  onTestFinished(async () => {
    await client.service.close();
    await stub.close();
  });
  return { stub, warnings, ...client };
}
