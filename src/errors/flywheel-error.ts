/** The one error class: a code of the table, a sentence for people, and what a caller needs to go on. */
import { ERRORS, type ErrorCode } from './codes.js';
import type { ExitCode } from './exit-codes.js';

/** One of several things that are wrong with an input; the message has no full stop. */
export interface PlacedProblem {
  /** Of a file that has one element a line, from 1. */
  readonly line?: number;
  /** Of the element in its file, from 0. */
  readonly index?: number;
  /** What it is about: a path in the JSON, or the column of a table. */
  readonly path?: string;
  readonly message: string;
}

/** All that is wrong with an input. */
export interface ProblemList {
  /** The input, as messages call it. */
  readonly file: string;
  readonly count: number;
  /** The first of them. */
  readonly listed: readonly PlacedProblem[];
}

export interface FlywheelErrorOptions {
  /** What to do next, imperative; replaces the hint of the table. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** HTTP status as a server sent it, when it differs from the table. */
  readonly status?: number;
  readonly requestId?: string;
  readonly idempotencyKey?: string;
  /** Has nothing of the request left this machine? `false`: something may have, and what became of it is not known. */
  readonly unsent?: boolean;
  /** Was nothing ever done under the request's idempotency key, or was something, as the service says that knows it? */
  readonly keyUnused?: boolean;
  /** It may come from something before the service: its code is none of the API, or it does not name the request. */
  readonly doubtful?: boolean;
  /** Seconds to wait before the next try. */
  readonly retryAfterSeconds?: number;
  /** A code this build does not know, as a remote service sent it. */
  readonly foreignCode?: string;
  /** What is wrong with an input, one by one; the message says it in one sentence. */
  readonly problems?: ProblemList;
  /** Exit number, where the place that raises it knows better than the table. */
  readonly exit?: ExitCode;
}

/** The problem as it goes over the wire: `{ error, message }`. */
export interface ProblemBody {
  readonly error: string;
  readonly message: string;
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

  /** The code as printed: the service's own where it is unknown to this build. */
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

  /** The same error with more context; message, code and stack are kept. */
  with(more: FlywheelErrorOptions): FlywheelError<Code> {
    const copy = new FlywheelError(this.code, this.message, { ...this.options, ...more });
    if (this.stack !== undefined) copy.stack = this.stack;
    return copy;
  }
}

/** Is this an error of the house, and, if a code is given, of that code? */
export function isFlywheelError<Code extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: Code,
): error is FlywheelError<Code> {
  return error instanceof FlywheelError && (code === undefined || error.code === code);
}

/** Whatever was thrown, as an error of the house; an unknown one is internal, and keeps its cause. */
export function wrapUnknown(error: unknown): FlywheelError {
  if (isFlywheelError(error)) return error;
  const message = 'Internal error (a bug). Run again with FLYWHEEL_DEBUG=1 and report the stack trace.';
  return new FlywheelError('ERR_INTERNAL', message, { cause: error });
}

/** For what cannot happen unless this program is wrong. @throws `ERR_INTERNAL` */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new FlywheelError('ERR_INTERNAL', message);
}
