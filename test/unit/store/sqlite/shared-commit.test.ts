/** Transactions that come while another waits for the disk, and what becomes of them when one fails, or the commit does. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadCommitBeside } from '../../../../src/files/sqlite-connection.js';
import { createKyselyStore, ownClock } from '../../../../src/store/kysely-store.js';
import { kyselyOver, SqliteDriver } from '../../../../src/store/sqlite/driver.js';
import { openSqliteStore } from '../../../../src/store/sqlite/open.js';
import { systemClock } from '../../../../src/values/time.js';
import { aRequest, rawSqlite, register, temporaryDirectory } from '../../../support/store.js';

const BUSY_TIMEOUT_MS = 100;

let directory: string;
let path: string;

beforeEach(async () => {
  directory = temporaryDirectory();
  path = join(directory, 'store.db');
  const store = await openSqliteStore({ path });
  await register(store);
  await store.close();
});
afterEach(() => rmSync(directory, { recursive: true }));

/** A store whose commits are counted; `before` comes before each. */
async function openCounting(before: () => void | Promise<void> = () => undefined) {
  const database = new Database(path);
  const commit = await loadCommitBeside();
  let commits = 0;
  const driver = new SqliteDriver({
    ...{ database, file: path, busyTimeoutMs: BUSY_TIMEOUT_MS },
    commitBeside: async () => {
      commits += 1;
      await before();
      await commit(database);
    },
  });
  const db = kyselyOver(driver);
  const store = createKyselyStore({
    writer: () => db,
    isShared: false,
    reader: () => db,
    clock: ownClock(systemClock),
    close: () => driver.destroy(),
  });
  const write = (id: string): Promise<string> =>
    store.transaction(async (tx) => {
      await tx.requests.insert(aRequest({ id, value: id }));
      return id;
    });
  return { database, db, store, write, commits: () => commits };
}

/** What another process sees. */
const written = (): readonly unknown[] =>
  rawSqlite(path, "select id from requests where id <> 'request-1' order by id").map(
    (row) => (row as { id: string }).id,
  );

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index + 10}`);

describe('transactions that wait for each other', () => {
  it('share a commit, and are not done before it', async () => {
    let seen: readonly unknown[] | undefined;
    let done = 0;
    const { write, store, commits } = await openCounting(() => {
      seen ??= [...written(), done];
    });
    await Promise.all(names(5).map((name) => write(name).then(() => (done += 1))));
    expect({ commits: commits(), seen, done }).toStrictEqual({ commits: 1, seen: [0], done: 5 });
    expect(written()).toStrictEqual(names(5));
    await store.close();
  });

  it('join while an earlier commit is on its way, and as many as there are in a few commits', async () => {
    const { write, store, commits } = await openCounting();
    const first = write('first');
    const rest = (async () => {
      await new Promise(setImmediate);
      await Promise.all(names(40).map(write));
    })();
    await Promise.all([first, rest]);
    expect(written()).toStrictEqual(['first', ...names(40)]);
    expect(commits()).toBeGreaterThan(2);
    expect(commits()).toBeLessThan(8);
    await store.close();
  });

  it('keep what they did when another of the same commit fails, of which nothing stays', async () => {
    const { write, store, commits } = await openCounting();
    const failing = (id: string): Promise<void> =>
      store.transaction(async (tx) => {
        await tx.requests.insert(aRequest({ id, value: id }));
        throw new RangeError('its own');
      });
    const outcomes = await Promise.allSettled([
      failing('x1'),
      write('a'),
      failing('x2'),
      write('b'),
      failing('x3'),
    ]);
    expect(outcomes.map(({ status }) => status)).toStrictEqual([
      ...['rejected', 'fulfilled', 'rejected', 'fulfilled', 'rejected'],
    ]);
    expect(written()).toStrictEqual(['a', 'b']);
    expect(commits()).toBe(1);
    await store.close();
  });

  it('are committed although others that fail never stop coming', async () => {
    const { write, store } = await openCounting();
    let isOver = false;
    let tries = 0;
    const failAgainAndAgain = async (): Promise<void> => {
      for (; !isOver && tries < 2_000; tries += 1) {
        const failed = store.transaction(async () => {
          throw new RangeError('its own');
        });
        await expect(failed).rejects.toThrow('its own');
      }
    };
    const others = Array.from({ length: 6 }, failAgainAndAgain);
    await write('a');
    isOver = true;
    await Promise.all(others);
    expect(tries).toBeLessThan(200);
    expect(written()).toStrictEqual(['a']);
    await store.close();
  });

  it('all fail when the commit does, and nothing of them stays', async () => {
    let broken = true;
    const { write, store } = await openCounting(() => {
      if (broken) throw Object.assign(new Error('disk I/O error'), { rawCode: 10 });
    });
    const outcomes = await Promise.allSettled(names(3).map(write));
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'ERR_STORE_UNAVAILABLE' } });
    expect(written()).toStrictEqual([]);
    broken = false;
    await Promise.all(names(3).map(write));
    expect(written()).toStrictEqual(names(3));
    await store.close();
  });

  it('all fail when the database takes everything back for one of them', async () => {
    const { db, write, store } = await openCounting();
    const first = write('a');
    // As it does by itself after some failures.
    const takenBack = db.transaction().execute(async (trx) => {
      await sql`rollback`.execute(trx);
      await sql`select 1`.execute(trx);
    });
    const outcomes = await Promise.allSettled([first, takenBack, write('b')]);
    expect(outcomes.map(({ status }) => status)).toStrictEqual(['rejected', 'rejected', 'fulfilled']);
    expect(outcomes[0]).toMatchObject({ reason: { code: 'ERR_STORE_UNAVAILABLE' } });
    expect(written()).toStrictEqual(['b']);
    await store.close();
  });

  it('wait for a commit that takes longer than they would for a lock', async () => {
    let free: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (free = resolve));
    const { write, store } = await openCounting(() => held);
    const first = write('a');
    await new Promise(setImmediate);
    const second = write('b');
    await new Promise((resolve) => setTimeout(resolve, 3 * BUSY_TIMEOUT_MS));
    free();
    expect(await Promise.all([first, second])).toStrictEqual(['a', 'b']);
    await store.close();
  });

  it('are committed before a statement that is of none of them, and before the store is closed', async () => {
    const { write, store, db, commits } = await openCounting();
    const first = write('a');
    const alone = sql`update requests set value = 'alone' where id = 'a'`.execute(db);
    const second = write('b');
    const closed = store.close();
    await Promise.all([first, alone, second, closed]);
    expect(commits()).toBe(2);
    expect(rawSqlite(path, "select value from requests where id in ('a', 'b') order by id")).toStrictEqual([
      { value: 'alone' },
      { value: 'b' },
    ]);
  });
});
