/** The only error class: a code of the table, a message, and context for the caller. */
import { ERRORS, type ErrorCode } from './codes.js';
import type { ExitCode } from './exit-codes.js';

/** One problem of an input; the message has no full stop. */
export interface PlacedProblem {
  /** Line in a file with one element per line, from 1. */
  readonly line?: number;
  /** Index of the element in its file, from 0. */
  readonly index?: number;
  /** Path in the JSON, or column of a table. */
  readonly path?: string;
  readonly message: string;
}

export interface ProblemList {
  readonly file: string;
  readonly count: number;
  /** The first problems; `count` has all. */
  readonly listed: readonly PlacedProblem[];
}

export interface FlywheelErrorOptions {
  /** Imperative; replaces the table's hint. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** The server's HTTP status, if it differs from the table. */
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** `true`: nothing was sent. `false`: something was sent, or may have been. */
  readonly unsent?: boolean | undefined;
  /** `true`: nothing was ever done under the idempotency key, says the service. `false`: something was done under it. */
  readonly keyUnused?: boolean | undefined;
  /** The response may come from a proxy: its code is not of the API, or it does not name the request. */
  readonly doubtful?: boolean | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** The service's code, if this build does not know it. */
  readonly foreignCode?: string | undefined;
  readonly problems?: ProblemList | undefined;
  readonly exit?: ExitCode | undefined;
}

export class FlywheelError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly options: FlywheelErrorOptions;

  constructor(code: Code, message: string, options: FlywheelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'FlywheelError';
    this.code = code;
    this.options = options;
  }

  /** The printed code: the service's own if this build does not know it. */
  get wireCode(): string {
    return this.options.foreignCode ?? this.code;
  }

  get status(): number | undefined {
    return this.options.status ?? ERRORS[this.code].status ?? undefined;
  }

  get exitCode(): ExitCode {
    return this.options.exit ?? ERRORS[this.code].exit;
  }

  get hint(): string | undefined {
    return this.options.hint ?? ERRORS[this.code].hint;
  }

  /** A copy with more context; message, code and stack stay. */
  with(more: FlywheelErrorOptions): FlywheelError<Code> {
    const copy = new FlywheelError(this.code, this.message, { ...this.options, ...more });
    if (this.stack !== undefined) copy.stack = this.stack;
    return copy;
  }
}

export function isFlywheelError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code,
): error is FlywheelError<Code> {
  return error instanceof FlywheelError && (code === undefined || error.code === code);
}

/** The command line is wrong. */
export const usageError = (message: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_USAGE', message, { hint });

/** An input or the value of an option is wrong. */
export const invalidInput = (message: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', message, { hint });

/** A setting is wrong. */
export const configError = (message: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_CONFIG_INVALID', message, { hint });

/** An unknown error becomes ERR_INTERNAL with the error as its cause. */
export function wrapUnknown(error: unknown): FlywheelError {
  if (isFlywheelError(error)) return error;
  const message = 'Internal error (a bug). Run again with FLYWHEEL_DEBUG=1 and report the stack trace.';
  return new FlywheelError('ERR_INTERNAL', message, { cause: error });
}

/** For conditions that only a bug can violate. @throws `ERR_INTERNAL` */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new FlywheelError('ERR_INTERNAL', message);
}
