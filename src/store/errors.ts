/** Errors that the store throws with either database. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** @param place - the file, or the database address without secrets */
export const storeUnavailable = (
  place: string,
  what: string,
  options: { hint?: string; cause?: unknown } = {},
): FlywheelError => new FlywheelError('ERR_STORE_UNAVAILABLE', `The store ${place} ${what}.`, options);

export const lockedTooLong = (place: string, waitedMs: number, by: string, cause?: unknown): FlywheelError =>
  storeUnavailable(place, `is locked by ${by} (waited ${(waitedMs / 1_000).toLocaleString('en')} s)`, {
    hint: 'Wait for the other process, or stop it. Then run the command again.',
    cause,
  });

export const storeClosed = (place: string): FlywheelError =>
  storeUnavailable(place, 'is closed', { hint: 'Interrupted while shutting down. Run the command again.' });

/** The statement or the record is wrong; the database and its connection work. */
export const statementFailed = (isRefusedRow: boolean, cause: unknown): FlywheelError =>
  new FlywheelError(
    'ERR_INTERNAL',
    isRefusedRow
      ? 'The store refused a record that violates a constraint.'
      : 'The store could not run a statement.',
    { cause },
  );
