/** The tables of the journal and their version. */
import { fileUnavailable } from '../../files/sqlite-errors.js';
import type { SqliteFile } from '../../files/sqlite-file.js';

/** Rises when an older build could no longer read the file. */
const SCHEMA_VERSION = 1;
/** Marks the file as a journal of this house: "FLYJ" as a 32-bit number. */
const APPLICATION_ID = 0x46_4c_59_4a;

// Bodies and answers are JSON, gzipped. `days` counts the days on which the journal was used, which no clock can hurry;
// `days_before` of an operation is how many there were when it last changed.
const TABLES = `
CREATE TABLE targets (id INTEGER PRIMARY KEY, place TEXT NOT NULL, profile TEXT NOT NULL, UNIQUE (place, profile)) STRICT;
CREATE TABLE operations (
  serial INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, target INTEGER NOT NULL REFERENCES targets (id), kind TEXT NOT NULL,
  key TEXT NOT NULL, origin TEXT NOT NULL, content BLOB NOT NULL, run INTEGER NOT NULL, state TEXT NOT NULL,
  told INTEGER NOT NULL, holder TEXT, resumed INTEGER NOT NULL DEFAULT 0, command TEXT NOT NULL, notes TEXT NOT NULL, body BLOB,
  date_begun TEXT NOT NULL, date_changed TEXT NOT NULL, days_before INTEGER NOT NULL,
  UNIQUE (target, kind, key), UNIQUE (target, id)
) STRICT;
CREATE INDEX operations_by_content ON operations (target, kind, content);
CREATE INDEX operations_pending ON operations (target) WHERE state = 'open' OR told = 0;
CREATE TABLE answers (
  operation INTEGER NOT NULL REFERENCES operations (serial), name TEXT NOT NULL, answer BLOB NOT NULL,
  PRIMARY KEY (operation, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE elements (
  target INTEGER NOT NULL REFERENCES targets (id), digest BLOB NOT NULL,
  operation INTEGER NOT NULL REFERENCES operations (serial), landed INTEGER NOT NULL,
  PRIMARY KEY (target, digest, operation)
) STRICT, WITHOUT ROWID;
CREATE INDEX elements_claimed ON elements (operation) WHERE landed = 0;
CREATE TABLE days (day TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Refuses a file that this build must not touch. @returns whether it still has to be filled. */
export function isEmptyJournal(file: SqliteFile): boolean {
  const version = file.number('PRAGMA user_version');
  const application = file.number('PRAGMA application_id');
  if (application === APPLICATION_ID && version === SCHEMA_VERSION) return false;
  if (application === APPLICATION_ID) {
    throw fileUnavailable(
      file,
      `was written by a newer flywheel (schema ${version}, this one knows ${SCHEMA_VERSION})`,
      { hint: 'Upgrade flywheel; nothing was sent.' },
    );
  }
  if (application === 0 && version === 0 && file.number('PRAGMA page_count') <= 1) return true;
  throw fileUnavailable(file, 'is not a journal', {
    hint: 'Move it away; nothing was written into it, and nothing was sent.',
  });
}

/** Makes sure that the file holds the tables. @throws `ERR_STORE_UNAVAILABLE` */
export function prepareJournal(file: SqliteFile): void {
  if (!isEmptyJournal(file)) return;
  file.write(() => {
    // Another process may have filled it between the look and the lock.
    if (isEmptyJournal(file)) file.exec(TABLES);
  });
}
