/** The names that people may want to type: batches that were begun here of late, and operations that are pending. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { JOURNAL_FILE } from '../../files/directories.js';
import { openSqliteFile, type SqlValue } from '../../files/sqlite-file.js';
import { isEmptyJournal } from './schema.js';

/** Something that has a name, and since when. */
interface Named {
  readonly id: string;
  readonly state: string;
  readonly date: string;
}

const MAX_NAMES = 50;
const BATCH_ID = /"batchId":"([0-9a-f-]{36})"/g;

/** The journal is only read. @throws `ERR_STORE_UNAVAILABLE` */
async function rows(directory: string, sql: string): Promise<readonly (readonly SqlValue[])[]> {
  const path = join(directory, JOURNAL_FILE);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return [];
  const file = await openSqliteFile({
    ...{ path, noun: 'journal', use: 'reader', create: false },
    inspect: (opened) => void isEmptyJournal(opened),
  });
  try {
    return file.prepare(`${sql} ORDER BY serial DESC LIMIT ${MAX_NAMES}`).all([]);
  } finally {
    file.close();
  }
}

/** The newest first, with what their operation has come to. @throws `ERR_STORE_UNAVAILABLE` */
export async function recentBatches(directory: string): Promise<readonly Named[]> {
  const sql = `SELECT notes, state, date_begun FROM operations WHERE kind = 'batch'`;
  const found = (await rows(directory, sql)).flatMap(([notes, state, date]) =>
    Array.from(
      String(notes).matchAll(BATCH_ID),
      ([, id = '']): Named => ({
        ...{ id, state: String(state), date: String(date) },
      }),
    ),
  );
  return [...new Map(found.map((batch) => [batch.id, batch])).values()];
}

/** What `pending` lists, with what each does in place of its state. @throws `ERR_STORE_UNAVAILABLE` */
export async function pendingOperations(directory: string): Promise<readonly Named[]> {
  const sql = `SELECT id, kind, date_begun FROM operations WHERE (state = 'open' OR told = 0)`;
  return (await rows(directory, sql)).map(([id, kind, date]) => ({
    ...{ id: String(id), state: String(kind), date: String(date) },
  }));
}
