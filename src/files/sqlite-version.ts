/** Whose tables an SQLite file holds, and of which version: looked at before anything is written into it. */
import { fileUnavailable } from './sqlite-errors.js';
import type { SqliteFile } from './sqlite-file.js';

/** How a build knows its own files. */
export interface FileVersion {
  /** Marks files of this kind: four letters as a 32-bit number. */
  readonly applicationId: number;
  /** Rises when an older build could no longer read the file. */
  readonly version: number;
  /** What the file should be: "a journal". */
  readonly kind: string;
  /** What the user may rely on: "nothing was sent". */
  readonly unharmed: string;
}

/** What marks a file; 0 where nobody has marked it. */
interface Marks {
  readonly application: number;
  readonly found: number;
  /** Is there nothing in it either? */
  readonly isEmpty: boolean;
}

/** Of one state of the file: it may be filled by another process between two looks. */
export const marksOf = (file: SqliteFile): Marks =>
  file.read(() => {
    const found = file.number('PRAGMA user_version');
    const application = file.number('PRAGMA application_id');
    const isEmpty = application === 0 && found === 0 && file.number('PRAGMA page_count') <= 1;
    return { application, found, isEmpty };
  });

/** Refuses a file that this build must not touch. @returns whether it still has to be filled. */
export function isEmptyFile(
  file: SqliteFile,
  { applicationId, version, kind, unharmed }: FileVersion,
): boolean {
  const { application, found, isEmpty } = marksOf(file);
  if (application === applicationId && found === version) return false;
  if (application === applicationId) {
    throw fileUnavailable(
      file,
      `was written by a newer version of flywheel (schema ${found}; this version supports ${version})`,
      { hint: `Upgrade flywheel; ${unharmed}.` },
    );
  }
  if (isEmpty) return true;
  throw fileUnavailable(file, `is not ${kind}`, {
    hint: `Move it away. Nothing was written into it, and ${unharmed}.`,
  });
}

/** Makes sure that the file holds its tables. @throws `ERR_STORE_UNAVAILABLE` */
export function prepareFile(file: SqliteFile, version: FileVersion, tables: string): void {
  if (!isEmptyFile(file, version)) return;
  file.write(() => {
    // Another process may have filled it between the look and the lock.
    if (!isEmptyFile(file, version)) return;
    file.exec(
      `${tables}\nPRAGMA application_id = ${version.applicationId}; PRAGMA user_version = ${version.version}`,
    );
  });
}
