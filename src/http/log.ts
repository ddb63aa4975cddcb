/** The shape of the log: one JSON line a request, with its id, and never a key, a proof or a body. */
import type { FastifyBaseLogger, FastifyServerOptions } from 'fastify';
import { isFlywheelError } from '../errors/flywheel-error.js';
import { isoTime } from '../values/time.js';
import type { HttpServerDeps } from './options.js';
import type { Notes } from './requests.js';

/** Transactions and batch of an answer. */
export interface Outcome {
  readonly signatures?: readonly string[];
  /** How many there are, where not all are named. */
  readonly transactions?: number;
  readonly batchId?: string;
}

/** Signatures that one line names; the log of the engine has them all. */
const MAX_NAMED = 8;

/** The fields of the answers of operations that change something; each answer has some of them. */
interface Answered {
  readonly txHash?: string;
  readonly success?: readonly { readonly txHash?: string }[];
  readonly result?: { readonly successfulExecutions?: readonly { readonly txHashes?: readonly string[] }[] };
  readonly batchId?: string;
  readonly batch?: { readonly id?: string };
}

export function outcomeOf(value: unknown): Outcome {
  const { txHash, success, result, batchId, batch } = value as Answered;
  const signatures = [
    txHash,
    ...(Array.isArray(success) ? success.map((burn) => burn.txHash) : []),
    ...(result?.successfulExecutions ?? []).flatMap((bundle) => bundle.txHashes ?? []),
  ].filter((hash) => typeof hash === 'string');
  const id = batchId ?? batch?.id;
  return {
    ...(signatures.length === 0 ? {} : { signatures: signatures.slice(0, MAX_NAMED) }),
    ...(signatures.length > MAX_NAMED ? { transactions: signatures.length } : {}),
    ...(id === undefined ? {} : { batchId: id }),
  };
}

/** Values under these names are masked, in case a dependency logs more than it should. */
const MASKED = [
  ...['headers', 'req', 'request', 'body', 'proof', 'payload', 'credential', 'authorization'],
  ...['err.headers', 'err.body', 'err.request'],
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
  const cause =
    error.cause === undefined || depth >= MAX_CAUSES ? undefined : loggedError(error.cause, depth + 1);
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    stack: error.stack ?? '',
    ...(cause === undefined ? {} : { cause }),
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
  timestamp: () => `,"time":"${isoTime(Date.now())}"`,
  formatters: { level: (level: string) => ({ level }) },
  serializers: { err: (error: unknown) => loggedError(error) },
  redact: { paths: MASKED, censor: '***' },
});

/** The one line of a request; of its path only the route's pattern. Fields without a value are left out. */
export function logEnd(log: FastifyBaseLogger, notes: Notes): void {
  const { requestId, request, route, response, startedMs, keyId, project, operationId } = notes;
  const line = {
    requestId,
    method: request.method,
    route,
    status: response.statusCode,
    durationMs: Math.round((performance.now() - startedMs) * 1_000) / 1_000,
    ...{ keyId, project, operationId },
    ...notes.outcome,
    ...{ error: notes.problemCode, replayed: notes.replayed === true ? true : undefined },
  };
  log.info(line, response.writableFinished ? 'answered' : 'client gone');
}
