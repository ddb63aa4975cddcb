/** The shape of the log: one JSON line a request, with its id, and never a key, a proof or a body. */
import type { FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { isFlywheelError } from '../errors/flywheel-error.js';
import { isoTime } from '../values/time.js';
import type { HttpServerDeps } from './options.js';

/** Whatever is logged under these names is masked, in case a dependency logs more than it should. */
const MASKED = [
  'headers',
  'req',
  'request',
  'body',
  'proof',
  'payload',
  'credential',
  'authorization',
  'err.headers',
  'err.body',
  'err.request',
];

const MAX_CAUSES = 5;

interface LoggedError {
  readonly [field: string]: unknown;
  readonly type: string;
  readonly message: string;
  readonly stack: string;
}

/** Only the fields that are known to be harmless. */
function loggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error object', stack: '' };
  const code: unknown = isFlywheelError(error) ? error.code : Reflect.get(error, 'code');
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    stack: error.stack ?? '',
    ...(error.cause === undefined || depth >= MAX_CAUSES
      ? {}
      : { cause: loggedError(error.cause, depth + 1) }),
  };
}

/** ISO text of now; under load many lines share a millisecond, and writing it anew for each would show. */
function createTimestamp(): () => string {
  let atMs = 0;
  let text = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== atMs) {
      atMs = nowMs;
      text = `,"time":"${isoTime(nowMs)}"`;
    }
    return text;
  };
}

/** Options for the framework's logger. */
export const loggerOptions = (log: HttpServerDeps['log']): NonNullable<FastifyServerOptions['logger']> => ({
  level: log.level,
  stream: { write: (line: string) => void log.stream.write(line) },
  base: null,
  timestamp: createTimestamp(),
  formatters: { level: (level: string) => ({ level }) },
  serializers: { err: (error: unknown) => loggedError(error) },
  redact: { paths: MASKED, censor: '***' },
});

/** The line that ends a request; the path only as the route's pattern, since a path may hold anything. */
export function logAnswer(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info(
    {
      requestId: request.id,
      method: request.method,
      route: request.is404 ? null : (request.routeOptions.url ?? null),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 1_000) / 1_000,
      ...(request.keyId === undefined ? {} : { keyId: request.keyId }),
      ...(request.problemCode === undefined ? {} : { error: request.problemCode }),
      ...(request.replayed === true ? { replayed: true } : {}),
    },
    'answered',
  );
}
