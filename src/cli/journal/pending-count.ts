/** Counts pending operations in the journal file alone, without a service. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { JOURNAL_FILE } from '../../files/directories.js';
import { openSqliteFile } from '../../files/sqlite-file.js';
import { isEmptyJournal } from './schema.js';

/** Counts operations with an unknown or unprinted outcome, and waiting batches. @throws `ERR_STORE_UNAVAILABLE` */
export async function openPendingCount(directory: string) {
  const path = join(directory, JOURNAL_FILE);
  const file =
    statSync(path, { throwIfNoEntry: false }) &&
    (await openSqliteFile({
      ...{ path, noun: 'journal', use: 'reader', create: false },
      inspect: (opened) => void isEmptyJournal(opened),
    }));
  const sql = `SELECT count(*) FROM operations o JOIN targets t ON t.id = o.target
    WHERE t.address = ? AND (o.state IN ('open', 'waiting') OR o.told = 0)`;
  return {
    at: (address: string): number => Number(file?.prepare(sql).get([address])?.[0] ?? 0),
    close: () => file?.close(),
  };
}
