/** What the two sides of a ledger's thread say to each other; all of it can be cloned. */

import type { ErrorCode } from '../../../errors/codes.js';
import {
  FlywheelError,
  type FlywheelErrorOptions,
  isFlywheelError,
  wrapUnknown,
} from '../../../errors/flywheel-error.js';
import type { SubmitReceipt } from '../../chain.js';

/** What the thread opens when it starts. */
export interface ThreadData {
  /** Of the ledger, which is there. */
  readonly path: string;
  /** The Squads program itself; without it the built-in one runs. */
  readonly squadsProgram?: Uint8Array;
}

/** What is to be submitted. */
export type ThreadWork =
  | { readonly transactions: readonly Uint8Array[] }
  | { readonly bundles: readonly (readonly Uint8Array[])[] };

/** All of them in their order. */
export const transactionsOf = (work: ThreadWork): readonly Uint8Array[] =>
  'bundles' in work ? work.bundles.flat() : work.transactions;

/** What is to be submitted, and what else a write of the ledger takes from outside. */
export type ThreadRequest = {
  readonly id: number;
  readonly nowMs: number;
  readonly storeRevision: number;
  /** Of each transaction in their order, whether this process has signed it: what arrives is a copy, of which nobody would know. */
  readonly areSignedHere: readonly boolean[];
} & ThreadWork;

/** An error as it crosses. */
export interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly stack: string | undefined;
  readonly options: FlywheelErrorOptions;
}

export type ThreadAnswer =
  | { readonly id: number; readonly receipt: SubmitReceipt }
  | { readonly id: number; readonly error: PlainError };

/** What caused it stays behind, but for its stack. */
export function toPlainError(thrown: unknown): PlainError {
  const { code, message, stack, options } = wrapUnknown(thrown);
  const { cause: _, ...rest } = options;
  const origin = isFlywheelError(thrown) || !(thrown instanceof Error) ? stack : thrown.stack;
  return { code, message, stack: origin, options: rest };
}

export function fromPlainError({ code, message, stack, options }: PlainError): FlywheelError {
  const error = new FlywheelError(code, message, options);
  if (stack !== undefined) error.stack = stack;
  return error;
}
