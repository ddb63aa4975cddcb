/** The SQLite store with faults of file, disk and process. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { STORE_VERSION } from '../../../../src/store/ddl.js';
import { openSqliteStore } from '../../../../src/store/sqlite/open.js';
import type { Store } from '../../../../src/store/store.js';
import { aBurn, aRequest, register } from '../../../contract/store/records.js';
import { emptyDirectory } from '../../../support/spawn.js';
import { rawSqlite } from '../../../support/store.js';

let directory: string;
let path: string;

beforeEach(() => {
  directory = emptyDirectory();
  path = join(directory, 'store.db');
});
/** A registered store with some burns, closed and checkpointed into one file. */
async function createStore(): Promise<void> {
  const store = await openSqliteStore({ path });
  await register(store);
  const burns = Array.from({ length: 200 }, (_, index) => aBurn(index + 1));
  await store.transaction((tx) => tx.burns.insertMany(aRequest(), burns));
  await store.close();
  rawSqlite(path, 'pragma wal_checkpoint(TRUNCATE)');
}

async function use(work: (store: Store) => Promise<unknown>): Promise<void> {
  const store = await openSqliteStore({ path, busyTimeoutMs: 100 });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

const write = (store: Store) =>
  store.transaction((tx) => tx.requests.insert(aRequest({ id: 'new', value: 'new' })));

async function failureOf(promise: Promise<unknown>): Promise<FlywheelError> {
  return promise.then(
    () => expect.unreachable('it did not fail'),
    (error: FlywheelError) => error,
  );
}

/** As a user to whom file modes apply, also if the tests run as root. */
async function asOrdinaryUser<Result>(work: () => Promise<Result>): Promise<Result> {
  const user = process.geteuid?.();
  if (user !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(user);
  }
}

const giveToOrdinaryUser = (file: string) => process.geteuid?.() === 0 && chownSync(file, 65_534, 65_534);

describe('openSqliteStore', () => {
  it('creates directory and file for this user only, and the files beside it', async () => {
    path = join(directory, 'a', 'b', 'store.db');
    const store = await openSqliteStore({ path });
    await register(store);
    await store.read((tx) => tx.projects.list());
    const mode = (file: string) => (statSync(file).mode & 0o777).toString(8);
    const files = readdirSync(join(directory, 'a', 'b')).map((name) => [
      name,
      mode(join(directory, 'a', 'b', name)),
    ]);
    expect(files).toStrictEqual([
      ['store.db', '600'],
      ['store.db-shm', '600'],
      ['store.db-wal', '600'],
    ]);
    expect([mode(join(directory, 'a')), mode(join(directory, 'a', 'b'))]).toStrictEqual(['700', '700']);
    await store.close();
  });

  it('is created once by all that open it together', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => openSqliteStore({ path })));
    const numbers = await Promise.all(stores.map((store) => store.reserve('token-1', 2)));
    expect(numbers.flatMap(({ sequences }) => sequences).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 16 }, (_, at) => at + 1),
    );
    for (const store of stores) await store.close();
    expect(rawSqlite(path, 'select version from schema_versions')).toHaveLength(STORE_VERSION);
  });

  it('takes rights of others away from a file that gives them', async () => {
    await createStore();
    chmodSync(path, 0o644);
    await use(write);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('uses a journal that readers pass, full durability and foreign keys', async () => {
    await createStore();
    expect(rawSqlite(path, 'pragma journal_mode')).toStrictEqual([{ journal_mode: 'wal' }]);
    const orphan = (store: Store) =>
      store.transaction((tx) => tx.burns.insertMany(aRequest(), [aBurn(900, { keyId: 'nobody' })]));
    expect(await failureOf(use(orphan))).toMatchObject({ code: 'ERR_INTERNAL' });
  });

  it('writes nothing when the store is up to date', async () => {
    await createStore();
    const before = readFileSync(path);
    await use((store) => store.read((tx) => tx.projects.list()));
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(statSync(`${path}-wal`).size).toBe(0);
  });

  const OTHER_BUILD = 'was written by another build of flywheel.';
  it.each([
    ['without a table of versions', 'drop table schema_versions', OTHER_BUILD],
    ['with other tables', `update schema_versions set digest = '${'0'.repeat(64)}'`, OTHER_BUILD],
    ['whose versions have no digests', 'alter table schema_versions drop column digest', OTHER_BUILD],
    [
      'of a newer build',
      `insert into schema_versions values (${STORE_VERSION + 1}, 'of tomorrow', '')`,
      `has schema version ${STORE_VERSION + 1}, but this version of flywheel supports up to ${STORE_VERSION}.`,
    ],
  ])('refuses a store %s in one sentence, and leaves it alone', async (_, change, reason) => {
    await createStore();
    rawSqlite(path, change);
    rawSqlite(path, 'pragma wal_checkpoint(TRUNCATE)');
    const before = readFileSync(path);
    const refused = { code: 'ERR_STORE_UNAVAILABLE', message: `The store ${path} ${reason}` };
    expect(await failureOf(use(write))).toMatchObject(refused);
    const looking = await openSqliteStore({ path, create: false });
    expect(await failureOf(looking.read((tx) => tx.projects.list()))).toMatchObject(refused);
    await looking.close();
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('refuses a file that is no database and leaves it alone', async () => {
    writeFileSync(path, 'dear diary '.repeat(1_000), { mode: 0o600 });
    expect(await failureOf(use(write))).toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `The store ${path} is not a database, or is damaged.`,
    });
    expect(readFileSync(path, 'utf8')).toBe('dear diary '.repeat(1_000));
  });

  it('says that a damaged file is damaged, as soon as it meets the damage', async () => {
    await createStore();
    const bytes = readFileSync(path);
    bytes.fill(0xff, 8_192);
    writeFileSync(path, bytes);
    const read = (store: Store) => store.read((tx) => tx.burns.ofRequest('request-1'));
    expect(await failureOf(use(read))).toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `The store ${path} is damaged, or the disk failed to read it.`,
      hint: expect.stringContaining('from a backup'),
    });
  });

  it('says why a path cannot hold a store', async () => {
    mkdirSync(path);
    expect(await failureOf(use(write))).toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `The store ${path} cannot be opened.`,
    });
    writeFileSync(join(directory, 'file'), '');
    path = join(directory, 'file', 'store.db');
    expect(await failureOf(use(write))).toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `The store ${path} cannot be opened: a part of its path is not a directory.`,
    });
  });

  it.each([
    ['file', 0o400, 0o700],
    ['directory', 0o600, 0o500],
    ['file and directory', 0o400, 0o500],
  ])('names a read-only %s as the reason', async (_, fileMode, directoryMode) => {
    await createStore();
    for (const name of readdirSync(directory)) if (name !== 'store.db') rmSync(join(directory, name));
    chmodSync(path, fileMode);
    chmodSync(directory, directoryMode);
    giveToOrdinaryUser(path);
    giveToOrdinaryUser(directory);
    const failure = await asOrdinaryUser(() => failureOf(use(write)));
    chmodSync(directory, 0o700);
    expect(failure).toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `The store ${path} is read-only for this user.`,
      hint: expect.stringContaining('write access'),
    });
  });
});
