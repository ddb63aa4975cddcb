/** Whose tables an SQLite file holds: looked at before anything is written into it. */
import { sha256 } from '../values/digest.js';
import { fileUnavailable } from './sqlite-errors.js';
import type { SqliteFile } from './sqlite-file.js';

/** How a build knows its own files. */
export interface FileFormat {
  /** Marks files of this kind: four letters as a 32-bit number. */
  readonly applicationId: number;
  /** The statements that make them. A file whose tables are made by others is of another build, and there is no way from one to the other. */
  readonly tables: string;
  /** What the file should be: "a journal". */
  readonly kind: string;
  /** What to do with the file of another build, and with one that is something else. */
  readonly hints: { readonly otherBuild: string; readonly otherFile: string };
}

/** What tells the tables of one build from those of another in a file: 31 bits of their digest. */
const markOf = ({ tables }: FileFormat): number => Number.parseInt(sha256(tables).slice(0, 8), 16) >>> 1;

/** Refuses a file that this build must not touch. @returns whether it still has to be filled. */
export function isEmptyFile(file: SqliteFile, format: FileFormat): boolean {
  // Of one state of the file: it may be filled by another process between two looks.
  const [application, mark, pages] = file.read(() =>
    ['application_id', 'user_version', 'page_count'].map((name) => file.number(`PRAGMA ${name}`)),
  );
  const { applicationId, kind, hints } = format;
  if (application === applicationId) {
    if (mark === markOf(format)) return false;
    throw fileUnavailable(file, 'was written by another build of flywheel', { hint: hints.otherBuild });
  }
  if (application === 0 && mark === 0 && (pages ?? 0) <= 1) return true;
  throw fileUnavailable(file, `is not ${kind}`, { hint: hints.otherFile });
}

/**
 * Makes sure that the file holds its tables.
 * @param fill - writes the first rows in the same commit; runs only for a new file.
 * @throws `ERR_STORE_UNAVAILABLE`
 */
export function prepareFile(file: SqliteFile, format: FileFormat, fill: () => void = () => undefined): void {
  if (!isEmptyFile(file, format)) return;
  file.write(() => {
    // Another process may have filled it between the look and the lock.
    if (!isEmptyFile(file, format)) return;
    file.exec(
      `${format.tables}\nPRAGMA application_id = ${format.applicationId}; PRAGMA user_version = ${markOf(format)}`,
    );
    fill();
  });
}
