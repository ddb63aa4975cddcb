/** The tables of the ledger and their version; what a row means is decided by the file of each table. */

import { fileUnavailable } from '../../../files/sqlite-errors.js';
import type { SqliteFile } from '../../../files/sqlite-file.js';
import { marksOf } from '../../../files/sqlite-version.js';
import { SIGNATURE_BYTES } from '../../transaction/wire.js';

/** Rises when an older build could no longer read the file. */
export const SCHEMA_VERSION = 5;
/** Marks the file as a ledger of this house: "FLYL" as a 32-bit number. */
const APPLICATION_ID = 0x46_4c_59_4c;

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
  token_changes TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX transactions_by_signature ON transactions (${SIGNATURE_OF_WIRE});
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Refuses a file that this build must not touch. @returns whether it still has to be filled. */
export function isEmptyLedger(database: SqliteFile): boolean {
  const { application, found, isEmpty } = marksOf(database);
  if (application === APPLICATION_ID && found === SCHEMA_VERSION) return false;
  if (application === APPLICATION_ID && found > SCHEMA_VERSION) {
    throw fileUnavailable(
      database,
      `was written by a newer version of flywheel (schema ${found}; this version supports ${SCHEMA_VERSION})`,
      { hint: 'Upgrade flywheel, or use another --data-dir.' },
    );
  }
  if (application === APPLICATION_ID) {
    throw fileUnavailable(database, 'was written by a build of flywheel from before its first release', {
      hint: 'Use another --data-dir, or delete this one: `flywheel local reset --yes`',
    });
  }
  if (isEmpty && !database.readOnly) return true;
  throw fileUnavailable(database, isEmpty ? 'is empty' : 'is not a ledger', {
    hint: 'Run `flywheel local init` with an empty data directory, or use another --data-dir.',
  });
}

/**
 * Makes sure that the file holds the tables, and fills a new one in the same commit.
 *
 * @param fill - writes the clock and the first accounts; runs only for a new file.
 * @throws `ERR_STORE_UNAVAILABLE` for a newer schema or a file of something else.
 */
export function prepareSchema(database: SqliteFile, fill: () => void): void {
  if (!isEmptyLedger(database)) return;
  database.write(() => {
    // Another process may have filled it between the look and the lock.
    if (!isEmptyLedger(database)) return;
    database.exec(TABLES);
    fill();
  });
}
