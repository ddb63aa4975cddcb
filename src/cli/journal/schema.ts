/** The tables of the journal. */
import { type FileFormat, isEmptyFile, prepareFile, type SqliteFile } from '../../files/sqlite-file.js';

// `landed` is 1 for an element that landed, 0 for one that may still land, and -1 for other elements of the operation.
// Bodies and answers are JSON, gzipped.
//
// Approvals belong to no target: those of all profiles with the same multisig and mint count together.
// Amounts are base units as text: sums exceed 64 bits. `ends` are the first and last characters of the address, for
// look-alikes.
// The first `executed` pipelines of an approval are paid; the others may still be paid until the approval has `ended`.
// `place` is the index of a pipeline; for a recipient, of the first pipeline that names it.
// `subject` hashes a proof, `kinds` has a bit for each kind of action; `content` also covers amounts and recipients.
// The index of subjects has no target: else SQLite searches the primary key for the target alone.
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
  content BLOB NOT NULL, subject BLOB NOT NULL, kinds INTEGER NOT NULL,
  PRIMARY KEY (target, digest, operation)
) STRICT, WITHOUT ROWID;
CREATE INDEX elements_by_operation ON elements (operation, content);
CREATE INDEX elements_by_subject ON elements (subject);
CREATE TABLE approvals (
  id INTEGER PRIMARY KEY, multisig TEXT NOT NULL, mint TEXT NOT NULL, batch_index TEXT NOT NULL, digest TEXT NOT NULL,
  batch_id TEXT NOT NULL, profile TEXT NOT NULL, total TEXT NOT NULL, day TEXT NOT NULL, date TEXT NOT NULL,
  executed INTEGER NOT NULL DEFAULT 0, ended INTEGER NOT NULL DEFAULT 0, UNIQUE (multisig, mint, batch_index, digest, day)
) STRICT;
CREATE TABLE recipients (
  approval INTEGER NOT NULL REFERENCES approvals (id), address TEXT NOT NULL, ends TEXT NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (approval, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX recipients_by_ends ON recipients (ends);
CREATE TABLE proofs (
  approval INTEGER NOT NULL REFERENCES approvals (id), place INTEGER NOT NULL, subject TEXT NOT NULL, kinds INTEGER NOT NULL, content TEXT NOT NULL,
  PRIMARY KEY (approval, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX proofs_by_subject ON proofs (subject);
`;

const JOURNAL: FileFormat = {
  // "FLYJ"
  applicationId: 0x46_4c_59_4a,
  tables: TABLES,
  kind: 'a journal',
  hints: {
    otherBuild:
      'Nothing was sent or signed. Finish the pending operations with that build. Then move the file away. Earlier approvals then no longer count towards the limits.',
    otherFile: 'Nothing was written or sent. Move the file away.',
  },
};

/** Refuses a file that this build must not touch. @returns whether the tables are missing. */
export const isEmptyJournal = (file: SqliteFile): boolean => isEmptyFile(file, JOURNAL);

/** Creates missing tables. @throws `ERR_STORE_UNAVAILABLE` */
export const prepareJournal = (file: SqliteFile): void => prepareFile(file, JOURNAL);
