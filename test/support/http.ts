/** A server on a free port of loopback with what it wrote to its log, and a client to it. */
import { createRemoteService, type RemoteServiceDeps } from '../../src/client/remote-service.js';
import type { Service } from '../../src/contract/service.js';
import type { HttpServerDeps, HttpServerOptions } from '../../src/http/options.js';
import { createRateLimiter } from '../../src/http/rate-limiter.js';
import { createHttpServer, type HttpServer } from '../../src/http/server.js';
import { randomIds } from '../../src/values/ids.js';
import { systemClock } from '../../src/values/time.js';
import { fakeAuthenticate } from './fake-service.js';

export interface RunningServer extends HttpServer {
  readonly url: string;
  readonly port: number;
  readonly logLines: string[];
}

/** Limits that no test reaches by accident. */
const wide = { points: 1_000_000, windowSeconds: 1 };
export const WIDE_RATE_LIMITS: NonNullable<HttpServerOptions['rateLimits']> = {
  burn: { name: 'burn', ...wide },
  burnBatch: { name: 'api-key-burn', ...wide },
  currentBatch: { name: 'batch-current', ...wide },
  getBatch: { name: 'batch-status', ...wide },
  initBatch: { name: 'batch-init', ...wide },
  executeBatch: { name: 'batch-execute', ...wide },
};

/** Starts a server over a service; rate limits are wide unless given. */
export async function startServer(
  deps: { readonly service: Service } & Partial<HttpServerDeps>,
  options: HttpServerOptions = {},
): Promise<RunningServer> {
  const logLines: string[] = [];
  const server = await createHttpServer(
    {
      authenticate: fakeAuthenticate,
      health: { ready: async () => undefined },
      rateLimiter: createRateLimiter({ clock: systemClock }),
      log: { level: 'trace', stream: { write: (line) => logLines.push(line) } },
      ...deps,
    },
    { rateLimits: WIDE_RATE_LIMITS, ...options },
  );
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return { ...server, url, port: Number(new URL(url).port), logLines };
}

/** A client that does not wait for real: sleeping is noted and over at once, unless given. */
export function remoteClient(
  baseUrl: string,
  deps: Partial<RemoteServiceDeps> = {},
): { readonly service: Service; readonly waits: number[]; readonly lines: string[] } {
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
