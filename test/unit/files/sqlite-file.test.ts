import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it } from 'vitest';
import { openSqliteFile } from '../../../src/files/sqlite-file.js';
import { emptyDirectory } from '../../support/spawn.js';

describe('openSqliteFile', () => {
  let directory: string;
  beforeEach(() => {
    directory = emptyDirectory();
  });

  it('lets a write survive power loss, also where only a full sync reaches the disk (macOS)', async () => {
    const path = join(directory, 'a.db');
    const file = await openSqliteFile({
      path,
      noun: 'ledger',
      create: true,
      inspect: () => undefined,
    });
    const setting = (name: string): number => file.number(`PRAGMA ${name}`);
    expect(['synchronous', 'fullfsync', 'checkpoint_fullfsync'].map(setting)).toEqual([2, 1, 1]);
    file.close();
  });

  it('waits for another that is just making the same file', async () => {
    const path = join(directory, 'a.db');
    const other = new Worker(MAKING, { eval: true, workerData: path });
    const exit = once(other, 'exit');
    await once(other, 'message');
    const file = await openSqliteFile({ path, noun: 'journal', create: true });
    expect(file.number('SELECT count(*) FROM made')).toBe(1);
    file.close();
    expect(await exit).toEqual([0]);
  });
});

/**
 * A worker that has begun to write a new file, and ends when this thread is blocked by that; it waits for readers as all writers
 * do.
 */
const MAKING = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require('libsql');
  const connection = new Database(workerData, { timeout: 10_000 });
  connection.exec('BEGIN IMMEDIATE; CREATE TABLE made (id INTEGER); INSERT INTO made VALUES (1)');
  parentPort.postMessage('begun');
  setTimeout(() => {
    connection.exec('COMMIT');
    connection.close();
    parentPort.close();
  }, 50);
`;
