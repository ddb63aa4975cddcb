/** The tables of the journal. */
import type { SqliteFile } from '../../files/sqlite-file.js';
import { type FileFormat, isEmptyFile, prepareFile } from '../../files/sqlite-file.js';

// `landed` is 1 for an element that landed, 0 for one that may still land, and -1 for other elements of the operation.
// Bodies and answers are JSON, gzipped.
const TABLES = `
CREATE TABLE targets (id INTEGER PRIMARY KEY, address TEXT NOT NULL, flywheel TEXT NOT NULL, UNIQUE (address, flywheel)) STRICT;
CREATE TABLE operations (
  serial INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, target INTEGER NOT NULL REFERENCES targets (id), kind TEXT NOT NULL,
  key TEXT NOT NULL, origin TEXT NOT NULL, content BLOB NOT NULL, state TEXT NOT NULL,
  told INTEGER NOT NULL, holder TEXT, held_until INTEGER NOT NULL, resumed INTEGER NOT NULL DEFAULT 0, command TEXT NOT NULL, notes TEXT NOT NULL, body BLOB,
  date_begun TEXT NOT NULL, date_changed TEXT NOT NULL,
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
  content BLOB NOT NULL, subject BLOB NOT NULL,
  PRIMARY KEY (target, digest, operation)
) STRICT, WITHOUT ROWID;
CREATE INDEX elements_by_operation ON elements (operation, content);
CREATE INDEX elements_by_subject ON elements (target, subject);
`;

const JOURNAL: FileFormat = {
  // "FLYJ"
  applicationId: 0x46_4c_59_4a,
  tables: TABLES,
  kind: 'a journal',
  hints: {
    otherBuild: 'Nothing was sent. Finish the pending operations with that build. Then move the file away.',
    otherFile: 'Nothing was written or sent. Move the file away.',
  },
};

/** Refuses a file that this build must not touch. @returns whether the tables are missing. */
export const isEmptyJournal = (file: SqliteFile): boolean => isEmptyFile(file, JOURNAL);

/** Creates missing tables. @throws `ERR_STORE_UNAVAILABLE` */
export const prepareJournal = (file: SqliteFile): void => prepareFile(file, JOURNAL);
