/** What the store adds to what any SQLite file can fail with. */
import { type FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { isRefusedRow, translateSqliteError } from '../../files/sqlite-errors.js';
import { statementFailed } from '../errors.js';

/** What messages call the file. */
export const storeName = (path: string) => ({ path, noun: 'store' });

/**
 * What was thrown, as `ERR_STORE_UNAVAILABLE` where the store is at fault and `ERR_INTERNAL` where a statement is; an error of
 * the program stays as it is.
 */
export function toStoreError(error: unknown, file: string): FlywheelError {
  const translated = translateSqliteError(storeName(file), error);
  return isFlywheelError(translated) ? translated : statementFailed(isRefusedRow(error), error);
}
