/** Which pages of other origins a browser lets read the answers: none, unless their origins are named. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  BATCH_COST_HEADER,
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENT_REPLAYED_HEADER,
  RATE_LIMIT_HEADER,
  RATE_LIMIT_POLICY_HEADER,
  REQUEST_ID_HEADER,
  RETRY_AFTER_HEADER,
} from '../contract/headers.js';
import type { HttpSettings } from './options.js';

/** For how long a browser may keep in mind what it may send. */
const PREFLIGHT_SECONDS = 600;

const EXPOSED = [
  REQUEST_ID_HEADER,
  RATE_LIMIT_HEADER,
  RATE_LIMIT_POLICY_HEADER,
  RETRY_AFTER_HEADER,
  IDEMPOTENT_REPLAYED_HEADER,
  BATCH_COST_HEADER,
  'deprecation',
  'link',
].join(', ');

/** Adds what a browser needs to the answers for the origins that are named. Cookies are never asked for. */
export class Cors {
  readonly #origins: ReadonlySet<string>;
  readonly #requestHeaders: string;

  constructor({ corsOrigins, apiKeyHeader, bearer }: HttpSettings) {
    this.#origins = new Set(corsOrigins);
    const names = [apiKeyHeader, 'content-type', IDEMPOTENCY_KEY_HEADER, REQUEST_ID_HEADER];
    this.#requestHeaders = [...names, ...(bearer ? ['authorization'] : [])].join(', ');
  }

  /** Adds the headers of every answer. */
  describe(request: FastifyRequest, reply: FastifyReply): void {
    if (this.#origins.size === 0) return;
    reply.header('vary', 'Origin');
    if (!this.#isAllowed(request)) return;
    reply.header('access-control-allow-origin', request.headers.origin);
    reply.header('access-control-expose-headers', EXPOSED);
  }

  /** Does a browser ask whether a page may send the request that it wants to send? */
  isPreflight(request: FastifyRequest): boolean {
    return (
      request.method === 'OPTIONS' &&
      request.headers['access-control-request-method'] !== undefined &&
      this.#isAllowed(request)
    );
  }

  answerPreflight(reply: FastifyReply): FastifyReply {
    return reply
      .code(204)
      .header('access-control-allow-methods', 'GET, POST')
      .header('access-control-allow-headers', this.#requestHeaders)
      .header('access-control-max-age', String(PREFLIGHT_SECONDS))
      .send();
  }

  #isAllowed({ headers }: FastifyRequest): boolean {
    return headers.origin !== undefined && this.#origins.has(headers.origin);
  }
}
