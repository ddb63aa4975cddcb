/** The shape of the log: one JSON line a request, with its id, and never a key, a proof or a body. */
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify';
import { isFlywheelError } from '../errors/flywheel-error.js';
import { isoTime } from '../values/time.js';
import type { HttpServerDeps } from './options.js';
import type { RequestLife } from './request-life.js';

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

/** ISO text of now; under load many lines share a millisecond, and writing it again for each would show. */
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
  mixin: () => {
    const server = log.server?.();
    return server === undefined ? {} : { server };
  },
  timestamp: createTimestamp(),
  formatters: { level: (level: string) => ({ level }) },
  serializers: { err: (error: unknown) => loggedError(error) },
  redact: { paths: MASKED, censor: '***' },
});

/** The one line of a request; of its path only the route's pattern. */
export function logEnd(log: FastifyBaseLogger, life: RequestLife): void {
  const { requestId, request, route, response, keyId, project, operationId } = life;
  const { problemCode, replayed, isAnswered, outcome } = life;
  log.info(
    {
      requestId,
      method: request.method,
      route,
      status: response.statusCode,
      durationMs: Math.round(life.elapsedMs * 1_000) / 1_000,
      ...(keyId === undefined ? {} : { keyId }),
      ...(project === undefined ? {} : { project }),
      ...(operationId === undefined ? {} : { operationId }),
      ...outcome,
      ...(problemCode === undefined ? {} : { error: problemCode }),
      ...(replayed ? { replayed } : {}),
    },
    isAnswered ? 'answered' : 'client gone',
  );
}
