/** Copies a file store into each kind of database: everything and nothing else, or nothing. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyStore } from '../../../src/store/copy.js';
import { sqlName } from '../../../src/store/ddl.js';
import { TABLE_NAMES, describe as tableOf } from '../../../src/store/schema.js';
import type { StoreTransaction } from '../../../src/store/store.js';
import { sha256 } from '../../../src/values/digest.js';
import {
  aBatch,
  aBundle,
  aBurn,
  anApiKey,
  anotherProject,
  aRequest,
  aVote,
  DAY,
  INIT_RESULT,
  LATER,
  numbersOf,
  RESULT,
  register,
  success,
} from '../../contract/store/records.js';
import { replacing } from '../../support/doubles.js';
import { openPostgresStoreIn } from '../../support/postgres.js';
import { type OpenStore, openTemporarySqliteStore, type StoreUnderTest } from '../../support/store.js';
import { databaseOfFile } from './database-of-file.js';

const server = databaseOfFile();

const opened: StoreUnderTest[] = [];
const opener = (open: OpenStore) => async (): Promise<StoreUnderTest> => {
  const under = await open();
  opened.push(under);
  return under;
};
const openSqlite = opener(openTemporarySqliteStore);
const openPostgres = opener(openPostgresStoreIn(() => server.url));
afterEach(async () => {
  for (const under of opened.splice(0)) await under.dispose();
});

/** Inserts records of every table, in every state. */
async function furnish({ store, raw }: StoreUnderTest): Promise<void> {
  await register(store);
  await store.transaction(({ lineages }) => lineages.bind('Genesis1'));
  await numbersOf(store, 3);
  await store.transaction(async (tx) => {
    await tx.apiKeys.insert(anApiKey({ id: 'key-0', hash: sha256('key-0'), proofTypes: ['PRODUCT_BUY'] }));
    await tx.apiKeys.change({ id: 'key-0' }, { dateRevoked: LATER });
    await tx.requests.insert(aRequest({ id: 'request-2', value: 'ключ 🔑 "\\' }));
    await tx.requests.complete('request-2', '{"success":true}');
    await tx.burns.insertMany(
      aRequest(),
      [1, 2, 3].map((sequence) => aBurn(sequence)),
    );
    await tx.burns.settleMany([
      success(1, 'CONFIRMED'),
      { ...success(2), status: 'FAILED', errorCode: 'E', errorMessage: 'no', feeLamports: null },
    ]);
    await tx.usage.addLanded({ tokenId: 'token-1', day: DAY, kind: 'burn' }, 18_446_744_073_709_551_615n);
    for (const [index, id] of ['batch-1', 'batch-2', 'batch-3', 'batch-4'].entries())
      await tx.batches.insert(
        aRequest(),
        aBatch({ id, batchIndex: BigInt(index), holder: 'alive', leaseUntilMs: 9e15 }),
        [[{ kind: 'BURN', amount: 1n, recipient: null }]],
      );
    await tx.batches.transition('batch-2', 'FINALIZED', { initResult: INIT_RESULT }, LATER);
    await tx.batches.transition('batch-3', 'FINALIZED', { initResult: INIT_RESULT }, LATER);
    await tx.batches.transition('batch-3', 'EXECUTED', { executeResult: RESULT }, LATER);
    await tx.batches.transition('batch-4', 'FAILED', { executeResult: RESULT }, LATER);
    await tx.batches.change('batch-4', { dateCancelled: LATER, dateUpdated: LATER });
    await tx.batches.addVote(aVote('vote 1'));
    await tx.batches.addCosts('batch-4', [{ signature: 'one', operatorLamports: -7, vaultLamports: 9 }]);
    await tx.batches.change('batch-1', { burnLeft: 0n, airdropLeft: 5n, heldFrom: DAY });
    const [one, two] = [aBundle('one'), aBundle('two', { first: 2 })];
    await tx.bundles.insertMany([one, two, aBundle('three', { first: 4 })]);
    const end = { status: 'FAILED', errorMessage: 'no', failedTransaction: 1 } as const;
    await tx.bundles.settle([
      { ...one, status: 'LANDED' },
      { ...two, ...end },
    ]);
    await tx.requests.noteDay(DAY);
  });
  await store.transaction(async (tx) => {
    await tx.gaps.add({ tokenId: 'token-1', dateFound: LATER }, [
      { signature: 'lost', burned: 7n, airdropped: 0n, memo: 'a memo', dateLanded: null },
    ]);
    await tx.gaps.setMark('token-1', 'BurnAccount1', 'newest');
  });
  await raw(`insert into audit_log values (7, 'token-1', 'me', 'register', null, '{}', '${LATER}')`);
  await raw("update projects set name = 'fly', facts = '{}', min_operator_sol = '00000000000000000005'");
}

function comparable(cell: unknown): unknown {
  if (cell instanceof ArrayBuffer || cell instanceof Uint8Array)
    return Buffer.from(new Uint8Array(cell)).toString('hex');
  return typeof cell === 'number' ? String(cell) : cell;
}

async function contentOf(
  { raw }: StoreUnderTest,
  instead: Readonly<Record<string, object>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {};
  for (const name of TABLE_NAMES)
    found[name] = (
      await raw(`select * from ${sqlName(name)} order by ${tableOf(name).key.map(sqlName).join(', ')}`)
    ).map((row) => Object.values({ ...row, ...instead[name] }).map(comparable));
  return found;
}

describe('into PostgreSQL', () => {
  let source: StoreUnderTest;
  let target: StoreUnderTest;
  beforeEach(async () => {
    source = await openSqlite();
    target = await openPostgres();
    await furnish(source);
  });

  it('goes everything, found again as it was', async () => {
    const copied = await copyStore(source.store, target.store);
    expect(copied.wasThere).toBe(false);
    expect(copied.tables.filter(({ rows }) => rows === 0)).toEqual([]);
    expect(await target.store.progress()).toMatchObject({ genesis: 'Genesis1' });
    const released = { holder: null, lease_until_ms: 0 };
    const expected = await contentOf(source, {
      batches: released,
      requests: released,
      progress: { lineage: 'copy' },
    });
    expect(await contentOf(target)).toEqual(expected);
  });

  it('goes on with its numbers, and keeps its rules', async () => {
    await copyStore(source.store, target.store);
    const { store, raw } = target;
    expect(await numbersOf(store, 1)).toEqual([4]);
    await store.transaction((tx) =>
      tx.batches.insert(aRequest(), aBatch({ id: 'batch-5', batchIndex: 9n }), []),
    );
    expect((await store.read((tx) => tx.batches.current('token-1')))?.id).toBe('batch-5');
    await expect(raw('delete from audit_log')).rejects.toThrow(/stays/);
    await expect(raw("update burns set key_id = 'nobody'")).rejects.toThrow(/constraint/);
  });

  it('is done once: the same again is found there, something else is refused', async () => {
    const { tables } = await copyStore(source.store, target.store);
    expect(await copyStore(source.store, target.store)).toEqual({ tables, wasThere: true });
    await target.store.transaction((tx) => tx.burns.settleMany([success(3)]));
    const before = await contentOf(target);
    await expect(copyStore(source.store, target.store)).rejects.toMatchObject({ code: 'ERR_INPUT_INVALID' });
    expect(await contentOf(target)).toEqual(before);
  });

  it('reads a long table back beside its source: the server ends a transaction that is idle for as long as that takes', async () => {
    const many = Array.from({ length: 1_200 }, (_, at) => aBurn(at + 10));
    await source.store.transaction((tx) => tx.burns.insertMany(aRequest(), many));
    const pages: string[] = [];
    const noting = (side: string, tx: StoreTransaction): StoreTransaction =>
      replacing(tx, {
        rows: replacing(tx.rows, {
          async *pages(table) {
            for await (const page of tx.rows.pages(table)) {
              if (table === 'burns') pages.push(side);
              yield page;
            }
          },
        }),
      });
    await copyStore(
      { read: (work) => source.store.read((tx) => work(noting('source', tx))) },
      { transaction: (work) => target.store.transaction((tx) => work(noting('target', tx))) },
    );
    expect(pages.indexOf('target')).toBeLessThan(pages.lastIndexOf('source'));
  });

  it('writes nothing when what stands there then is refused', async () => {
    const check = (): Promise<never> => Promise.reject(new TypeError('no'));
    const before = await contentOf(target);
    await expect(copyStore(source.store, target.store, { check })).rejects.toThrow();
    expect(await contentOf(target)).toEqual(before);
    expect((await copyStore(source.store, target.store)).wasThere).toBe(false);
  });

  it('refuses rows of another project, which rules of the other one alone would have kept out', async () => {
    await source.store.transaction((tx) => tx.projects.insert(anotherProject()));
    const before = await contentOf(target);
    await source.rawWithoutReferences?.("update batches set token_id = 'token-2' where id = 'batch-1'");
    await expect(copyStore(source.store, target.store)).rejects.toMatchObject({ code: 'ERR_INPUT_INVALID' });
    expect(await contentOf(target)).toEqual(before);
  });
});
