/** Error → status, `{ error, message }` and headers. Internal details never reach the client. */
import { IDEMPOTENCY_KEY_UNUSED_HEADER, RETRY_AFTER_HEADER } from '../contract/headers.js';
import { failureOf, type OperationId } from '../contract/operations.js';
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';

const BROKEN: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The header lines are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large.'],
};

export function brokenRequest(cause: NodeJS.ErrnoException): FlywheelError {
  const [status, message] = BROKEN[cause.code ?? ''] ?? [400, 'The request is not valid HTTP.'];
  return new FlywheelError('ERR_INVALID_REQUEST', message, { status, cause });
}

export function comesFrom(error: unknown, code: ErrorCode, depth = 0): boolean {
  if (!(error instanceof Error) || depth > 10) return false;
  return isFlywheelError(error, code) || comesFrom(error.cause, code, depth + 1);
}

export function servedError(thrown: unknown, operation: OperationId | undefined): FlywheelError {
  const error = isFlywheelError(thrown) ? thrown : undefined;
  const { code, statusCode = 500 } = thrown as { readonly code?: string; readonly statusCode?: number };
  const as = (ours: ErrorCode, message: string) => new FlywheelError(ours, message, { cause: thrown });
  if ((error?.status ?? 500) >= 500 && comesFrom(error ?? thrown, 'ERR_STORE_UNAVAILABLE'))
    return as('ERR_UNAVAILABLE', 'The store cannot be reached.');
  if (code === 'ERR_INTERRUPTED') return as('ERR_UNAVAILABLE', 'The service is shutting down.');
  if (error?.status !== undefined) return error;
  if (code === 'FST_ERR_BAD_URL') return as('ERR_INVALID_REQUEST', 'The path is not valid percent-encoding.');
  if (error === undefined && statusCode >= 400 && statusCode < 500)
    return as('ERR_INVALID_REQUEST', 'The request is not valid HTTP.');
  return as(failureOf(operation), 'Internal error of the service.');
}

function retryAfterSeconds({ options, status, code }: FlywheelError): number | undefined {
  if (options.retryAfterSeconds !== undefined) return Math.ceil(options.retryAfterSeconds);
  return status === 503 || status === 429 || code === 'ERR_DUPLICATE_IDEMPOTENCY_KEY' ? 1 : undefined;
}

/** A status 500 answer contains only the code and the request id. */
export function toProblem(error: FlywheelError, requestId: string) {
  const status = error.status ?? 500;
  const inside = `Internal error of the service. Its log has the details under request id ${requestId}.`;
  const seconds = retryAfterSeconds(error);
  const isUnused = status < 500 && error.options.keyUnused === true;
  return {
    status,
    body: { error: error.wireCode, message: status === 500 ? inside : error.message },
    headers: {
      ...(seconds === undefined ? {} : { [RETRY_AFTER_HEADER]: String(seconds) }),
      ...(isUnused ? { [IDEMPOTENCY_KEY_UNUSED_HEADER]: 'true' } : {}),
    },
  };
}

export const isOwnFault = (error: FlywheelError): boolean => (ERRORS[error.code].status ?? 500) >= 500;
