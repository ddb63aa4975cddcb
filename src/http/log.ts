/** Log format: one JSON line per request with its id; never a key, a proof or a body. */
import { type Logger, pino } from 'pino';
import { isFlywheelError } from '../errors/flywheel-error.js';
import { isoTime } from '../values/time.js';
import type { Notes } from './requests.js';

const MAX_NAMED = 8;

interface Answered {
  readonly txHash?: string;
  readonly success?: readonly { readonly txHash?: string }[];
  readonly result?: { readonly successfulExecutions?: readonly { readonly txHashes?: readonly string[] }[] };
  readonly batchId?: string;
  readonly batch?: { readonly id?: string };
}

export function outcomeOf(value: unknown): Readonly<Record<string, unknown>> {
  const { txHash, success, result, batchId, batch } = value as Answered;
  const executions = result?.successfulExecutions ?? [];
  const all = [
    txHash,
    ...(Array.isArray(success) ? success : []).map((burn: Answered) => burn.txHash),
    ...executions.flatMap(({ txHashes }) => txHashes ?? []),
  ].filter((hash) => hash !== undefined);
  return {
    signatures: all.length === 0 ? undefined : all.slice(0, MAX_NAMED),
    transactions: all.length > MAX_NAMED ? all.length : undefined,
    batchId: batchId ?? batch?.id,
  };
}

const MAX_CAUSES = 5;

/** Copies only the fields of an error that cannot contain secrets. */
function loggedError(error: unknown, depth = 0): { type: string; message: string; stack: string } {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an error object', stack: '' };
  const code: unknown = isFlywheelError(error) ? error.code : Reflect.get(error, 'code');
  const hasCause = error.cause !== undefined && depth < MAX_CAUSES;
  return {
    ...{ type: error.name, message: error.message, stack: error.stack ?? '' },
    ...(typeof code === 'string' ? { code } : {}),
    ...(hasCause ? { cause: loggedError(error.cause, depth + 1) } : {}),
  };
}

/** Masked in case a dependency logs requests or headers. */
const MASKED = [
  ...['headers', 'req', 'request', 'body', 'proof', 'payload', 'credential', 'authorization'],
  ...['err.headers', 'err.body', 'err.request'],
];

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const createLog = (of: {
  readonly level: LogLevel;
  readonly stream: { write(line: string): unknown };
  readonly server?: string;
}): Logger =>
  pino(
    {
      level: of.level,
      base: of.server === undefined ? null : { server: of.server },
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      formatters: { level: (level: string) => ({ level }) },
      serializers: { err: (error: unknown) => loggedError(error) },
      redact: { paths: MASKED, censor: '***' },
    },
    { write: (line: string) => void of.stream.write(line) },
  );

/** Logs one line per request. It contains the route pattern, not the path, because a path may hold anything. */
export function logEnd(log: Pick<Logger, 'info'>, notes: Notes): void {
  const { requestId, request, route, response, startedMs, keyId, project, operationId, outcome } = notes;
  const durationMs = Math.round((performance.now() - startedMs) * 1_000) / 1_000;
  const line = {
    ...{ requestId, method: request.method, route, status: response.statusCode, durationMs },
    ...{ keyId, project, operationId, ...outcome, error: notes.problemCode },
    replayed: notes.replayed === true ? true : undefined,
  };
  log.info(line, response.writableFinished ? 'answered' : 'client gone');
}
