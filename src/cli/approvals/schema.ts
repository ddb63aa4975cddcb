/** The tables of the record of approvals and their version. */
import type { SqliteFile } from '../../files/sqlite-file.js';
import { type FileVersion, prepareFile } from '../../files/sqlite-version.js';

/** "FLYA" as a 32-bit number. */
const APPROVALS: FileVersion = {
  applicationId: 0x46_4c_59_41,
  version: 1,
  kind: 'a record of approvals',
  unharmed: 'nothing was signed',
};

// Amounts are base units as text: their sums go beyond 64 bits. `ends` are those of the address, by which look-alikes are found.
// A reservation is an approval that somebody is being asked for; it counts for the day as long as its process lives.
const TABLES = `
CREATE TABLE flywheels (id INTEGER PRIMARY KEY, multisig TEXT NOT NULL, mint TEXT NOT NULL, UNIQUE (multisig, mint)) STRICT;
CREATE TABLE approvals (
  id INTEGER PRIMARY KEY, flywheel INTEGER NOT NULL REFERENCES flywheels (id), batch_index TEXT NOT NULL, digest TEXT NOT NULL,
  batch_id TEXT NOT NULL, owner TEXT NOT NULL, profile TEXT NOT NULL, burned TEXT NOT NULL, airdropped TEXT NOT NULL,
  day TEXT NOT NULL, date TEXT NOT NULL, UNIQUE (flywheel, batch_index, digest)
) STRICT;
CREATE INDEX approvals_by_day ON approvals (flywheel, day);
CREATE TABLE recipients (
  id INTEGER PRIMARY KEY, flywheel INTEGER NOT NULL REFERENCES flywheels (id), address TEXT NOT NULL, ends TEXT NOT NULL,
  UNIQUE (flywheel, address)
) STRICT;
CREATE INDEX recipients_by_ends ON recipients (flywheel, ends);
CREATE TABLE shares (
  approval INTEGER NOT NULL REFERENCES approvals (id), recipient INTEGER NOT NULL REFERENCES recipients (id),
  amount TEXT NOT NULL, PRIMARY KEY (approval, recipient)
) STRICT, WITHOUT ROWID;
CREATE TABLE reservations (
  id INTEGER PRIMARY KEY, flywheel INTEGER NOT NULL REFERENCES flywheels (id), batch_index TEXT NOT NULL, digest TEXT NOT NULL,
  total TEXT NOT NULL, day TEXT NOT NULL, holder TEXT NOT NULL
) STRICT;
`;

/** Makes sure that the file holds the tables. @throws `ERR_STORE_UNAVAILABLE` */
export const prepareApprovals = (file: SqliteFile): void => prepareFile(file, APPROVALS, TABLES);
