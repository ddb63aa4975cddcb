/** Several processes on one store file: concurrent starts, and kills during writes. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/store/ddl.js';
import { openSqliteStore } from '../../src/store/sqlite/open.js';
import { emptyDirectory } from '../support/spawn.js';
import { DAY, rawSqlite } from '../support/store.js';
import { runStoreProgram, writeStoreProgram } from './store-process.js';

let directory: string;
let path: string;

beforeEach(() => {
  directory = emptyDirectory();
  path = join(directory, 'data', 'store.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('several processes on one store', () => {
  it('create it together, once, and give out each number once', async () => {
    const program = writeStoreProgram(
      directory,
      `const store = await openSqliteStore({ path });
       for (let round = 0; round < 20; round += 1)
         console.log((await store.reserve('token-1', 1)).sequences[0]);
       await store.close();`,
    );
    const ends = await Promise.all([1, 2, 3, 4].map(() => runStoreProgram(program, path).ended));
    expect(ends.map(({ by }) => by)).toStrictEqual([0, 0, 0, 0]);
    const numbers = ends.flatMap(({ output }) => output.trim().split('\n').map(Number));
    expect(numbers.toSorted((a, b) => a - b)).toStrictEqual(
      Array.from({ length: 80 }, (_, index) => index + 1),
    );
    expect(rawSqlite(path, 'select version, name from schema_versions')).toEqual(
      MIGRATIONS.map(({ name }, at) => ({ version: at + 1, name })),
    );
  });

  it('keeps every acknowledged transaction whole when one is killed in the middle', async () => {
    const program = writeStoreProgram(
      directory,
      `const store = await openSqliteStore({ path });
       await records.register(store);
       const usage = { tokenId: 'token-1', day: records.DAY, kind: 'burn' };
       for (let at = 1; ; at += 50) {
         const burns = Array.from({ length: 50 }, (_, index) => records.aBurn(at + index, { amount: 3n }));
         await store.transaction(async (tx) => {
           await tx.burns.insertMany(records.aRequest(), burns.slice(0, 25));
           await new Promise(setImmediate);
           await tx.usage.addLanded(usage, 1000n);
           await tx.burns.insertMany(records.aRequest(), burns.slice(25));
         });
         console.log(at + 49);
       }`,
    );
    const running = runStoreProgram(program, path);
    await running.lines(20);
    running.child.kill('SIGKILL');
    const { by, output } = await running.ended;
    const acknowledged = Number(output.trim().split('\n').at(-1));

    expect(by).toBe('SIGKILL');
    const store = await openSqliteStore({ path });
    const burns = await store.read((tx) => tx.burns.ofRequest('request-1'));
    const used = await store.read((tx) => tx.usage.used({ tokenId: 'token-1', day: DAY, kind: 'burn' }));
    expect(burns.length).toBeGreaterThanOrEqual(acknowledged);
    expect(burns.length % 50).toBe(0);
    // Each transaction has 50 pending burns of 3 and landed burns of 1,000.
    expect(used).toBe(BigInt(burns.length / 50) * 1_150n);
    await store.close();
    expect(rawSqlite(path, 'pragma integrity_check')).toStrictEqual([{ integrity_check: 'ok' }]);
    expect(rawSqlite(path, 'pragma foreign_key_check')).toStrictEqual([]);
  });
});
