/** The tables of the ledger; what a row means is decided by the file of each table. */

import { fileUnavailable } from '../../../files/sqlite-errors.js';
import type { SqliteFile } from '../../../files/sqlite-file.js';
import { type FileFormat, isEmptyFile, prepareFile } from '../../../files/sqlite-version.js';
import { SIGNATURE_BYTES } from '../../transaction/wire.js';

/** The signature of a row of `transactions`, word for word as the index has it: otherwise the index is not used. */
export const SIGNATURE_OF_WIRE = `substr(wire, 2, ${SIGNATURE_BYTES})`;
// Transactions are kept in the order in which they landed and found through an index: rows of a kilobyte in the order
// of their random signatures would touch, and write again, one page for every transaction. The signature itself is the first
// of those in `wire`, behind their number, which is always one byte.
const TABLES = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE accounts (
  address BLOB PRIMARY KEY, lamports TEXT NOT NULL, owner BLOB NOT NULL, data BLOB NOT NULL,
  executable INTEGER NOT NULL, rent_epoch TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE transactions (
  id INTEGER PRIMARY KEY, slot INTEGER NOT NULL, time_ms INTEGER NOT NULL, wire BLOB NOT NULL,
  mark BLOB NOT NULL, error TEXT, logs TEXT NOT NULL, fee_lamports TEXT NOT NULL, compute_units INTEGER NOT NULL,
  token_changes TEXT NOT NULL, table_addresses BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX transactions_by_signature ON transactions (${SIGNATURE_OF_WIRE});
`;

const LEDGER: FileFormat = {
  // "FLYL"
  applicationId: 0x46_4c_59_4c,
  tables: TABLES,
  kind: 'a ledger',
  hints: {
    otherBuild: 'Use another --data-dir, or delete this one: `flywheel local reset --yes`',
    otherFile: 'Run `flywheel local init` with an empty data directory, or use another --data-dir.',
  },
};

/** Refuses a file that this build must not touch. @returns whether it still has to be filled. */
export function isEmptyLedger(database: SqliteFile): boolean {
  const isEmpty = isEmptyFile(database, LEDGER);
  if (isEmpty && database.readOnly)
    throw fileUnavailable(database, 'is empty', { hint: LEDGER.hints.otherFile });
  return isEmpty;
}

/** @param fill - writes the clock and the first accounts. */
export const prepareSchema = (database: SqliteFile, fill: () => void): void =>
  prepareFile(database, LEDGER, fill);
