/**
 * Whether a request may go on under the rate limit of its key.
 *
 * A request beyond the limit that carries an idempotency key may be the repeat of one that was done, and is then answered
 * with what was stored (service specification, section 4.1): it goes on as far as the store, and no further. How many of
 * those may come has a limit as well, ten times as wide.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Reply } from '../contract/call.js';
import type { Operation, RateLimit } from '../contract/operations.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { rateLimitHeaders } from './headers.js';
import type { Principal } from './options.js';
import { type RateDecision, repeatLimit, withRate } from './rate-limiter.js';
import { readIdempotencyKey } from './request-headers.js';
import type { ServeContext } from './serve-context.js';

/** How a request may go on. */
export interface Admission {
  /** Only what is stored may be given as the answer. */
  readonly repeatOnly: boolean;
  /** Calls the service; a request that is no repeat after all gets the refusal of its limit. */
  answer(call: () => Promise<Reply<unknown>>): Promise<Reply<unknown>>;
}

const FREE: Admission = { repeatOnly: false, answer: (call) => call() };

const overLimit = (
  { points, windowSeconds }: RateLimit,
  { retryAfterSeconds }: RateDecision,
): FlywheelError =>
  new FlywheelError(
    'ERR_RATE_LIMIT_EXCEEDED',
    `Over the limit of ${points} in ${windowSeconds} s; try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  );

/** Could the request be the repeat of another? */
function mayRepeat(operation: Operation, request: IncomingMessage): boolean {
  try {
    return readIdempotencyKey(operation, request) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Counts requests of one operation and tells their callers what is left.
 * @throws `ERR_RATE_LIMIT_EXCEEDED` saying when to try again.
 */
export function createAdmission(
  { deps, settings, metrics }: Pick<ServeContext, 'deps' | 'settings' | 'metrics'>,
  operation: Operation,
): (principal: Principal, request: IncomingMessage, reply: FastifyReply) => Promise<Admission> {
  const usual = settings.rateLimits[operation.id] ?? operation.rateLimit;
  const refuse = (error: FlywheelError): never => {
    metrics.rateLimited(operation.id);
    throw error;
  };
  const repeatOnly = (error: FlywheelError): Admission => ({
    repeatOnly: true,
    answer: (call) =>
      call().catch((thrown: unknown) => {
        throw isFlywheelError(thrown, 'ERR_RATE_LIMIT_EXCEEDED') ? refuse(error) : thrown;
      }),
  });

  return async ({ keyId, rates }, request, reply) => {
    const limit = withRate(usual, rates?.[operation.id]);
    const decision = await deps.rateLimiter.take(keyId, limit);
    reply.headers(rateLimitHeaders(limit, decision));
    if (decision.allowed) return FREE;
    const error = overLimit(limit, decision);
    if (!mayRepeat(operation, request)) return refuse(error);
    const repeat = await deps.rateLimiter.take(keyId, repeatLimit(limit));
    return repeat.allowed ? repeatOnly(error) : refuse(error);
  };
}
