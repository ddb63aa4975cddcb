/** Reads the journal file alone, without a service: names for completion, and the number of pending operations. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { JOURNAL_FILE } from '../../files/directories.js';
import { openSqliteFile, type SqliteFile } from '../../files/sqlite-file.js';
import { isEmptyJournal } from './schema.js';

interface Named {
  readonly id: string;
  readonly state: string;
  readonly date: string;
}

const NEWEST = 'ORDER BY serial DESC LIMIT 50';
const BATCH_ID = /"batchId":"([0-9a-f-]{36})"/g;

/** `null` without a journal. @throws `ERR_STORE_UNAVAILABLE` */
async function openFile(directory: string): Promise<SqliteFile | null> {
  const path = join(directory, JOURNAL_FILE);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
  return openSqliteFile({
    ...{ path, noun: 'journal', use: 'reader', create: false },
    inspect: (opened) => void isEmptyJournal(opened),
  });
}

async function rows(directory: string, sql: string): Promise<readonly (readonly string[])[]> {
  const file = await openFile(directory);
  try {
    const found = file?.prepare(sql).all([]) ?? [];
    return found.map((row) => row.map(String));
  } finally {
    file?.close();
  }
}

/** Newest first. @throws `ERR_STORE_UNAVAILABLE` */
export async function recentBatches(directory: string): Promise<readonly Named[]> {
  const sql = `SELECT notes, state, date_begun FROM operations WHERE kind = 'batch' ${NEWEST}`;
  const found = (await rows(directory, sql)).flatMap(([notes = '', state = '', date = '']) =>
    Array.from(notes.matchAll(BATCH_ID), ([, id = '']): Named => ({ id, state, date })),
  );
  return [...new Map(found.map((batch) => [batch.id, batch])).values()];
}

/** The operations of `pending`, with the kind in place of the state. @throws `ERR_STORE_UNAVAILABLE` */
export async function pendingOperations(directory: string): Promise<readonly Named[]> {
  const sql = `SELECT id, kind, date_begun FROM operations WHERE (state = 'open' OR told = 0) ${NEWEST}`;
  return (await rows(directory, sql)).map(([id = '', state = '', date = '']) => ({ id, state, date }));
}

/** Counts operations with an unknown or unprinted outcome, and waiting batches. @throws `ERR_STORE_UNAVAILABLE` */
export async function openPendingCount(directory: string) {
  const file = await openFile(directory);
  const sql = `SELECT count(*) FROM operations o JOIN targets t ON t.id = o.target
    WHERE t.address = ? AND (o.state IN ('open', 'waiting') OR o.told = 0)`;
  return {
    at: (address: string): number => Number(file?.prepare(sql).get([address])?.[0] ?? 0),
    close: () => file?.close(),
  };
}
