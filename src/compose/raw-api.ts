/** The embedded engine as it is over HTTP, without a socket: the server of `serve` in this process, and the client in front of it. */
import type { ServerResponse } from 'node:http';
import { inject } from 'light-my-request';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import type { HttpAnswer, HttpFailure, Terms } from '../client/exchange.js';
import { createRawApi } from '../client/raw-api.js';
import type { HttpRequest, Transport } from '../client/transport.js';
import { MAX_BODY_BYTES } from '../contract/limits.js';
import type { RawApi } from '../contract/raw-api.js';
import type { Engine } from '../engine/engine.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { createRateLimiter } from '../http/rate-limiter.js';
import { createHttpServer, type HttpServer } from '../http/server.js';
import { clientDeps } from './remote-service.js';

/** Nobody hears of it; the client sends no key in plain to anywhere else. */
const BASE_URL = 'http://localhost';

/** @param engine - that stays open, and belongs to the caller. */
export async function openRawApi(ambient: Ambient, settings: Settings, engine: Engine): Promise<RawApi> {
  const server = await createHttpServer(
    {
      service: engine,
      authenticate: (credential) => engine.authenticate(credential),
      health: { ready: () => engine.ready() },
      metrics: { batchesByStatus: () => engine.countBatches() },
      // Use of the engine in this process is not limited (contract, section 1.5).
      rateLimiter: createRateLimiter({
        take: (requests) => requests.map(() => ({ allowed: true, wholeAfterUs: 1 })),
      }),
      log: { level: 'silent', stream: { write: () => undefined } },
    },
    {
      ...{ apiKeyHeader: settings.apiKeyHeader.value, version: ambient.version },
      limits: { maxBodyBytes: MAX_BODY_BYTES },
    },
  );
  const api = createRawApi({
    ...clientDeps(ambient, settings, { baseUrl: BASE_URL, transport: inProcess(server) }),
    // What this process does itself is never given up for taking long.
    requestTimeoutMs: settings.waitSeconds.value * 1_000,
  });
  return {
    send: (request, call) => api.send(request, call),
    close: async () => {
      await api.close();
      await server.closeGracefully(0);
    },
  };
}

const inProcess = (server: HttpServer): Transport => ({
  era: 0,
  hidesTls: async () => false,
  exchange: (request, terms) => exchange(server, request, terms),
  close: async () => undefined,
});

async function exchange(
  server: HttpServer,
  { method, url, headers, body }: HttpRequest,
  { signal, timeoutMs }: Terms,
): Promise<HttpAnswer | HttpFailure> {
  const ended = endOf(signal, timeoutMs);
  try {
    const answered = inject(
      (request, response) => {
        // It has no socket, and so received no bytes over one.
        Object.assign(request.socket, { bytesRead: 0 });
        server.answer(request, response as unknown as ServerResponse);
      },
      {
        method,
        url: url.pathname + url.search,
        headers: { ...headers },
        ...(body === undefined ? {} : { payload: body }),
      },
    );
    const answer = await Promise.race([answered, ended.promise]);
    if ('kind' in answer) return answer;
    const plain = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
    return {
      kind: 'answer',
      status: answer.statusCode,
      headers: Object.fromEntries(plain),
      text: answer.payload,
    };
  } finally {
    ended.forget();
  }
}

/** The end of waiting, though not of what is waited for: it goes on, and is found under its key. */
function endOf(signal: AbortSignal | undefined, timeoutMs: number) {
  let forget = (): void => undefined;
  const promise = new Promise<HttpFailure>((resolve, reject) => {
    const interrupt = (): void => reject(new FlywheelError('ERR_INTERRUPTED', 'Interrupted.'));
    const reason = `no answer within ${timeoutMs / 1_000} s`;
    const late: HttpFailure = {
      ...{ kind: 'failure', maybeSent: true, retryable: false, reason, cause: undefined },
      ...{ wordless: false, late: true },
    };
    const timer = setTimeout(() => resolve(late), timeoutMs);
    signal?.addEventListener('abort', interrupt, { once: true });
    forget = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', interrupt);
    };
  });
  return { promise, forget };
}
