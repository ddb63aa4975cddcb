/** What a store of either database can fail with. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** @param place - the file, or the address of the database without what is secret in it. */
export const storeUnavailable = (
  place: string,
  what: string,
  options: { hint?: string; cause?: unknown } = {},
): FlywheelError => new FlywheelError('ERR_STORE_UNAVAILABLE', `The store ${place} ${what}.`, options);

/** The write lock was not to be had in time. */
export const lockedTooLong = (place: string, waitedMs: number, by: string, cause?: unknown): FlywheelError =>
  storeUnavailable(place, `is locked by ${by} (waited ${(waitedMs / 1_000).toLocaleString('en')} s)`, {
    hint: 'Wait for the other process, or stop it. Then run the command again.',
    cause,
  });

export const storeClosed = (place: string): FlywheelError =>
  storeUnavailable(place, 'is closed', { hint: 'Interrupted while shutting down. Run the command again.' });

/** The statement is at fault, or the record: nothing of the database or the way to it. */
export const statementFailed = (isRefusedRow: boolean, cause: unknown): FlywheelError =>
  new FlywheelError(
    'ERR_INTERNAL',
    isRefusedRow
      ? 'The store refused a record that violates a constraint.'
      : 'The store could not run a statement.',
    { cause },
  );
