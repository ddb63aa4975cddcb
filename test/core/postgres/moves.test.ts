/** Moving all that a store holds, out of each database into each other: all of it and nothing else, or nothing. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.js';
import { exportStore } from '../../../src/store/transfer/export.js';
import { type ExportEnd, linesOf } from '../../../src/store/transfer/format.js';
import { type Imported, importStore } from '../../../src/store/transfer/import.js';
import { LEFT_BEHIND, MOVED_TABLES } from '../../../src/store/transfer/tables.js';
import { sha256 } from '../../../src/values/digest.js';
import type { UtcDay } from '../../../src/values/time.js';
import { type OwnDatabase, openDatabase, openPostgresStoreIn } from '../../support/postgres.js';
import {
  aBatch,
  aBundle,
  aBurn,
  anApiKey,
  aRequest,
  aVote,
  DAY,
  INIT_RESULT,
  LATER,
  type OpenStore,
  openTemporarySqliteStore,
  RESULT,
  register,
  type StoreUnderTest,
  success,
} from '../../support/store.js';

let server: OwnDatabase;
beforeAll(async () => {
  server = await openDatabase();
});
afterAll(() => server.stop());

const DATABASES: Readonly<Record<string, OpenStore>> = {
  SQLite: openTemporarySqliteStore,
  PostgreSQL: openPostgresStoreIn(() => server.url),
};

const opened: StoreUnderTest[] = [];
const open = async (database: string): Promise<StoreUnderTest> => {
  const under = await (DATABASES[database] as OpenStore)();
  opened.push(under);
  return under;
};
afterEach(async () => {
  for (const under of opened.splice(0)) await under.dispose();
});

/** Something of everything, in every state that it can be in. */
async function furnish({ store, raw }: StoreUnderTest): Promise<void> {
  await register(store);
  await store.bind('Genesis1');
  await store.transaction(async (tx) => {
    await tx.apiKeys.insert(anApiKey({ id: 'key-0', hash: sha256('key-0'), proofTypes: ['PRODUCT_BUY'] }));
    await tx.apiKeys.revoke('key-0', LATER);
    await tx.requests.insert(aRequest({ id: 'request-2', value: 'ключ 🔑 "\\' }));
    await tx.requests.complete('request-2', '{"success":true}');
    await tx.burns.reserveSequences(3);
    await tx.burns.insertMany([1, 2, 3].map((sequence) => aBurn(sequence)));
    await tx.burns.settleMany([
      success(1),
      { ...success(2), status: 'FAILED', errorCode: 'E', errorMessage: 'no', feeLamports: null },
    ]);
    await tx.usage.addLanded({ tokenId: 'token-1', day: DAY, kind: 'burn' }, 18_446_744_073_709_551_615n);
    for (const [index, id] of ['batch-1', 'batch-2', 'batch-3', 'batch-4'].entries())
      await tx.batches.insert(
        aBatch({ id, batchIndex: BigInt(index), instance: 'alive', leaseUntilMs: 9e15 }),
      );
    await tx.requests.linkBatch('request-2', 'batch-1');
    await tx.batches.transition('batch-2', 'FINALIZED', { initResult: INIT_RESULT }, LATER);
    await tx.batches.transition('batch-3', 'FINALIZED', { initResult: INIT_RESULT }, LATER);
    await tx.batches.transition('batch-3', 'EXECUTED', { executeResult: RESULT }, LATER);
    await tx.batches.transition('batch-4', 'FAILED', { executeResult: RESULT }, LATER);
    await tx.batches.setCancelled('batch-4', LATER);
    await tx.batches.addVote(aVote('vote 1'));
    await tx.usage.setHold({
      ...{ batchId: 'batch-1', tokenId: 'token-1', kind: 'airdrop', amount: 5n, fromDay: DAY, toDay: null },
    });
    await tx.bundles.insertMany([
      aBundle('one'),
      aBundle('two', { first: 1 }),
      aBundle('three', { first: 2 }),
    ]);
    await tx.bundles.settle(['one'], { status: 'LANDED' });
    await tx.bundles.settle(['two'], { status: 'FAILED', errorMessage: 'no', failedTransaction: 1 });
    await tx.landings.add([
      { slot: 7n, dateLanded: LATER, feeLamports: 5_000n, sequence: 1 },
      { slot: 8n, dateLanded: LATER, feeLamports: 5_000n, bundleId: 'one' },
    ]);
    await tx.requests.noteDay(DAY);
  });
  await store.transaction(async (tx) => {
    await tx.gaps.add({ id: 'gap-1', tokenId: 'token-1', dateFound: LATER }, [
      { signature: 'lost', burned: 7n, airdropped: 0n, memo: 'a memo', dateLanded: null },
    ]);
    await tx.gaps.setMark('token-1', 'BurnAccount1', 'newest');
  });
  await raw(`insert into audit_log values (1, 'token-1', 'me', 'register', null, '{}', '${LATER}')`);
  await raw("update counters set value = 1 where name = 'audit'");
  await raw(`update flywheels set name = 'fly', place = '{"mint":"Mint1"}'`);
}

const sha256OfLines = (lines: readonly string[]): string => sha256(lines.map((line) => `${line}\n`).join(''));

/** The lines with another end, as if they had been exported so. */
function signed(lines: readonly string[]): string[] {
  const body = lines.slice(0, -1);
  const tables: { name: string; own: string[] }[] = [];
  for (const line of body.slice(1)) {
    const { table } = JSON.parse(line) as { table?: string };
    if (table === undefined) tables.at(-1)?.own.push(line);
    else tables.push({ name: table, own: [] });
  }
  const ends = tables.map(({ name, own }) => ({ name, rows: own.length, sha256: sha256OfLines(own) }));
  return [...body, JSON.stringify({ tables: ends, sha256: sha256OfLines(body) })];
}

async function exported(store: Store): Promise<{ readonly text: string; readonly end: ExportEnd }> {
  let text = '';
  const end = await exportStore(store, async (piece) => {
    text += piece;
  });
  return { text, end };
}

/** In pieces that end anywhere. */
async function* pieces(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += 1_000) yield text.slice(at, at + 1_000);
}

const imported = (store: Store, text: string): Promise<Imported> => importStore(store, linesOf(pieces(text)));

const digestsBut = ({ tables }: ExportEnd, ...names: readonly string[]) =>
  tables.filter(({ name }) => !names.includes(name));

describe('what is moved', () => {
  it.each(Object.keys(DATABASES))('is every table and every column of %s', async (database) => {
    const { raw } = await open(database);
    const columns = await raw(
      database === 'SQLite'
        ? `select m.name as t, c.name as c from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`
        : 'select table_name as t, column_name as c from information_schema.columns where table_schema = current_schema()',
    );
    const found = columns.filter(({ t }) => !LEFT_BEHIND.includes(String(t))).map(({ t, c }) => `${t}.${c}`);
    const moved = MOVED_TABLES.flatMap((table) =>
      Object.keys(table.columns).map((c) => `${table.name}.${c}`),
    );
    expect(moved.toSorted()).toEqual(found.toSorted());
  });
});

const NAMES = Object.keys(DATABASES);
describe.each(NAMES.flatMap((from) => NAMES.map((to) => [from, to] as const)))(
  'from %s to %s',
  (from, to) => {
    let source: StoreUnderTest;
    let target: StoreUnderTest;
    beforeEach(async () => {
      source = await open(from);
      target = await open(to);
      await furnish(source);
    });

    it('takes everything, and the way back gives the same', async () => {
      const { text, end } = await exported(source.store);
      expect(end.tables.filter(({ rows }) => rows === 0)).toEqual([]);
      expect(await imported(target.store, text)).toMatchObject({ ...end, wasThere: false });
      const again = await exported(target.store);
      expect(again.end.tables).toEqual(end.tables);
      const back = await open(from);
      await imported(back.store, again.text);
      expect((await exported(back.store)).end.tables).toEqual(end.tables);
      expect(await back.store.progress()).toMatchObject({ genesis: 'Genesis1' });
      // Where many write at once, writes are not counted.
      if (from === 'SQLite')
        expect((await back.store.progress()).revision).toBeGreaterThan(
          (await source.store.progress()).revision,
        );
    });

    it('lets go of what was worked on, keeps its rules, and goes on with its numbers', async () => {
      await imported(target.store, (await exported(source.store)).text);
      const { store, raw } = target;
      expect(await store.read((tx) => tx.requests.get('request-1'))).toMatchObject({ leaseUntilMs: 0 });
      expect(await store.read((tx) => tx.batches.get('batch-2'))).toMatchObject({
        instance: null,
        leaseUntilMs: 0,
      });
      expect(await store.transaction((tx) => tx.burns.reserveSequences(1))).toBe(4);
      await store.transaction((tx) => tx.batches.insert(aBatch({ id: 'batch-5', batchIndex: 9n })));
      expect((await store.read((tx) => tx.batches.current('token-1')))?.id).toBe('batch-5');
      expect(await store.read((tx) => tx.usage.latestDay('token-1'))).toBe(DAY as UtcDay);
      const refused = { code: 'ERR_INTERNAL' };
      await expect(store.transaction((tx) => tx.burns.settleMany([success(1)]))).rejects.toMatchObject(
        refused,
      );
      await expect(
        raw("update burns set status = 'PENDING', date_settled = null where sequence = 2"),
      ).rejects.toThrow(/settled already/);
      await expect(raw("update batches set status = 'FINALIZED' where id = 'batch-4'")).rejects.toThrow();
      await expect(raw("delete from requests where id = 'request-1'")).rejects.toThrow(/is kept/);
    });

    it('is done once: the same again is found there, something else is refused', async () => {
      const { text, end } = await exported(source.store);
      await imported(target.store, text);
      expect(await imported(target.store, text)).toMatchObject({ ...end, wasThere: true });
      await target.store.transaction((tx) => tx.burns.settleMany([success(3)]));
      await expect(imported(target.store, text)).rejects.toThrow(/holds something else/);
      expect((await target.store.read((tx) => tx.burns.ofRequest('request-1'))).at(2)).toMatchObject({
        status: 'SUCCESS',
      });
    });

    it('keeps what a fresh store was administered, behind what came', async () => {
      await target.raw(`insert into audit_log values (1, null, 'me', 'migrate', null, '{}', '${LATER}')`);
      await target.raw("update counters set value = 1 where name = 'audit'");
      const { text, end } = await exported(source.store);
      await imported(target.store, text);
      const acts = await target.raw('select ordinal, action from audit_log order by ordinal');
      expect(acts.map(({ ordinal, action }) => [Number(ordinal), action])).toEqual([
        [1, 'register'],
        [2, 'migrate'],
      ]);
      expect(digestsBut((await exported(target.store)).end, 'audit_log', 'counters')).toEqual(
        digestsBut(end, 'audit_log', 'counters'),
      );
      expect(await imported(target.store, text)).toMatchObject({ wasThere: true });
    });
  },
);

describe.each(NAMES)('a bad file into %s', (database) => {
  let text: string;
  let end: ExportEnd;
  let target: StoreUnderTest;
  beforeEach(async () => {
    const source = await open('SQLite');
    await furnish(source);
    ({ text, end } = await exported(source.store));
    target = await open(database);
  });

  const isUntouched = async (): Promise<void> => {
    const after = await exported(target.store);
    const fresh = await exported((await open(database)).store);
    expect(after.end.tables).toEqual(fresh.end.tables);
    // It is still one to import into.
    expect((await imported(target.store, text)).tables).toEqual(end.tables);
  };

  const changes: Readonly<Record<string, (lines: string[]) => string[]>> = {
    'that lacks its last line': (lines) => lines.slice(0, -1),
    'that lacks its last half': (lines) => lines.slice(0, lines.length / 2),
    'with two rows exchanged': (lines) => {
      const at = lines.findIndex((line) => line.includes('"burns","columns"')) + 1;
      return [...lines.slice(0, at), ...lines.slice(at, at + 2).reverse(), ...lines.slice(at + 2)];
    },
    'with a row twice': (lines) =>
      lines.flatMap((line) => (line.includes('"PRODUCT_BUY"') ? [line, line] : [line])),
    'with another amount': (lines) =>
      lines.map((line) => line.replace('00000000000001500000', '00000000000001500001')),
    'with an amount that is none': (lines) => lines.map((line) => line.replace('00000000000001500000', '15')),
    'with a number that is a text': (lines) =>
      lines.map((line) => line.replace('[1,"request-1"', '["1","request-1"')),
    'with bytes that are none': (lines) => lines.map((line) => line.replace('"AQD/"', '"AQD_"')),
    'signed anew over a request of another project': (lines) =>
      signed(lines.map((line) => line.replace('["request-2","token-1"', '["request-2","token-2"'))),
    'signed anew over a key in the place of none': (lines) =>
      signed(
        lines.map((line) => (line.startsWith('["key-0"') ? line.replace(/,null\]$/, ',"none"]') : line)),
      ),
    'with a line more': (lines) => [...lines, '{}'],
    'of a newer format': (lines) =>
      lines.with(0, (lines[0] ?? '').replace('"formatVersion":1', '"formatVersion":2')),
    'of a newer store': (lines) =>
      lines.with(0, (lines[0] ?? '').replace(/"storeVersion":\d+/, '"storeVersion":99')),
    'of an older store': (lines) =>
      lines.with(0, (lines[0] ?? '').replace(/"storeVersion":\d+/, '"storeVersion":4')),
    'of something else': () => ['{"burns":[]}'],
    'of nothing': () => [],
  };

  it.each(Object.keys(changes))('%s is refused, and nothing is written', async (change) => {
    const lines = (changes[change] as (lines: string[]) => string[])(text.split('\n').slice(0, -1));
    const bad = lines.map((line) => `${line}\n`).join('');
    expect(bad).not.toBe(text);
    await expect(imported(target.store, bad)).rejects.toMatchObject({
      code: 'ERR_INPUT_INVALID',
      message: expect.stringMatching(/^The export .*; nothing was imported\.$/),
    });
    await isUntouched();
  });

  it('that ends within a line is refused, and nothing is written', async () => {
    await expect(imported(target.store, text.slice(0, -9))).rejects.toMatchObject({
      code: 'ERR_INPUT_INVALID',
    });
    await isUntouched();
  });
});
