/** Whatever went wrong → status, `{ error, message }` and headers; nothing of the inside leaks. */
import { IDEMPOTENCY_KEY_UNUSED_HEADER, RETRY_AFTER_HEADER } from '../contract/headers.js';
import type { OperationId } from '../contract/operations.js';
import { ERRORS, type ErrorCode } from '../errors/codes.js';
import { FlywheelError, isFlywheelError, type ProblemBody } from '../errors/flywheel-error.js';

export interface Problem {
  readonly status: number;
  readonly body: ProblemBody;
  readonly headers: Readonly<Record<string, string>>;
}

/** The code for an unforeseen failure of each operation (contract, section 1.3). */
const FAILURE_CODES: Readonly<Partial<Record<OperationId, ErrorCode>>> = {
  currentBatch: 'ERR_BATCH_CURRENT_FAILED',
  initBatch: 'ERR_BATCH_INIT_FAILED',
  executeBatch: 'ERR_BATCH_EXECUTE_FAILED',
};

const DEFAULT_RETRY_AFTER_SECONDS = 1;

/** Codes of the framework that have one of ours. */
const FRAMEWORK_CODES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_BAD_URL: ['ERR_INVALID_REQUEST', 'The path is not valid percent-encoding.'],
};

/** Node's names for what was wrong with a request that it could not read, with the status that HTTP has for it. */
const BROKEN: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The header lines are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large.'],
};

/** The refusal of what is not HTTP, or is no whole request. */
export function brokenRequest(cause: NodeJS.ErrnoException): FlywheelError {
  const [status, message] = BROKEN[cause.code ?? ''] ?? [400, 'The request is not valid HTTP.'];
  return new FlywheelError('ERR_INVALID_REQUEST', message, { status, cause });
}

const field = (error: unknown, name: string): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;

function fromFramework(error: unknown): FlywheelError | undefined {
  const known = FRAMEWORK_CODES[String(field(error, 'code'))];
  if (known !== undefined) return new FlywheelError(known[0], known[1], { cause: error });
  const status = field(error, 'statusCode');
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  return new FlywheelError('ERR_INVALID_REQUEST', 'The request is not valid HTTP.', { cause: error });
}

/** Causes of causes that are looked at. */
const MAX_CAUSES = 10;

/** Is an error, or what it came from, of this code? */
export function comesFrom(error: unknown, code: ErrorCode): boolean {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth += 1) {
    if (isFlywheelError(cause, code)) return true;
    cause = cause.cause;
  }
  return false;
}

/** Any failure as one that has an HTTP status. */
export function servedError(error: unknown, operation: OperationId | undefined): FlywheelError {
  const isAnswer = isFlywheelError(error) && error.status !== undefined && error.status < 500;
  if (!isAnswer && comesFrom(error, 'ERR_STORE_UNAVAILABLE')) {
    return new FlywheelError('ERR_UNAVAILABLE', 'The store is out of reach.', { cause: error });
  }
  if (isFlywheelError(error, 'ERR_INTERRUPTED')) {
    return new FlywheelError('ERR_UNAVAILABLE', 'The service is shutting down.', { cause: error });
  }
  if (isFlywheelError(error) && error.status !== undefined) return error;
  const framework = isFlywheelError(error) ? undefined : fromFramework(error);
  if (framework !== undefined) return framework;
  const code = (operation === undefined ? undefined : FAILURE_CODES[operation]) ?? 'ERR_INTERNAL';
  return new FlywheelError(code, 'The service failed inside.', { cause: error });
}

function retryAfterSeconds(error: FlywheelError): number | undefined {
  if (error.options.retryAfterSeconds !== undefined) return Math.ceil(error.options.retryAfterSeconds);
  const asksToWait =
    error.status === 503 || error.status === 429 || error.code === 'ERR_DUPLICATE_IDEMPOTENCY_KEY';
  return asksToWait ? DEFAULT_RETRY_AFTER_SECONDS : undefined;
}

/** The answer to a failure; of status 500 it tells the code and the request id, and no more. */
export function toProblem(error: FlywheelError, requestId: string): Problem {
  const status = error.status ?? 500;
  const message =
    status === 500
      ? `The service failed inside; its log knows more under request id ${requestId}.`
      : error.message;
  const waitSeconds = retryAfterSeconds(error);
  return {
    status,
    body: { error: error.wireCode, message },
    headers: {
      ...(waitSeconds === undefined ? {} : { [RETRY_AFTER_HEADER]: String(waitSeconds) }),
      ...(status < 500 && error.options.keyUnused === true
        ? { [IDEMPOTENCY_KEY_UNUSED_HEADER]: 'true' }
        : {}),
    },
  };
}

/** Is it the service's own fault, so that the log needs the stack? */
export const isOwnFault = (error: FlywheelError): boolean => (ERRORS[error.code].status ?? 500) >= 500;
