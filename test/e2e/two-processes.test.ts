/** Several engine processes on one data directory at the same time: they take turns, and the books balance. */
import { rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ExecuteBatchResult, InitBatchResult } from '../../src/contract/schemas/batch.js';
import type { BurnBatchResult } from '../../src/contract/schemas/burn.js';
import { randomIds } from '../../src/values/ids.js';
import {
  buildProgram,
  copyOf,
  type Ended,
  openDirectory,
  readBooks,
  removeProgram,
  runEngine,
} from '../support/crash.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  openTestEngine,
  signApproval,
  type TestEngine,
  tokensOf,
} from '../support/engine.js';

const MICRO = 1_000_000;
/** More than share one intent, and more than a blockhash lives for when two do it. */
const ELEMENTS = 200;
const SUPPLY_OF_WALLET = 1_000_000_000_000n;

const elements = Array.from({ length: ELEMENTS }, (_, index) => aBurnRequest((index + 1) / MICRO));
const unitsOf = (times: number): bigint[] =>
  elements.flatMap((_, index) => Array<bigint>(times).fill(BigInt(index + 1)));
const TOTAL = BigInt((ELEMENTS * (ELEMENTS + 1)) / 2);

let template: TestEngine;
let dataDir: string;

beforeAll(async () => {
  await buildProgram();
  template = await openTestEngine({ dailyBurn: '1000', dailyAirdrop: '1000' });
  await template.close();
});
afterAll(() => {
  removeProgram();
  rmSync(template.dataDir, { recursive: true });
});
beforeEach(() => {
  dataDir = copyOf(template.dataDir);
});
afterEach(() => rmSync(dataDir, { recursive: true }));

type Operation = Parameters<typeof runEngine>[0]['operation'];

const run = (
  operation: Operation,
  input: unknown,
  idempotencyKey: string = randomIds.uuid(),
): Promise<Ended> =>
  runEngine({ dataDir, operation, input, idempotencyKey, key: template.project.key.reveal(), killAt: null });

/** Every burn of so many whole requests stands on the ledger once, and wallet, supply and cap agree. */
async function checkBurned(requests: number): Promise<void> {
  const books = readBooks(dataDir);
  expect(books.integrity).toEqual(['ok', 'ok']);
  expect(books.pending).toEqual({ burns: 0, bundles: 0 });
  expect(books.burns).toEqual(unitsOf(requests));
  const { engine, chain, close } = await openDirectory(dataDir);
  const { burned, usedToday } = await engine.status();
  const left = await tokensOf(chain, template.project, template.project.registration.burnWallet);
  await close();
  const expected = TOTAL * BigInt(requests);
  expect(left).toBe(SUPPLY_OF_WALLET - expected);
  expect(Number(burned) * MICRO).toBeCloseTo(Number(expected), 3);
  expect(usedToday.burn).toBe(burned);
}

describe('processes that burn at the same time', () => {
  it('burn all that each was asked for', async () => {
    const ended = await Promise.all([1, 2, 3].map(() => run('burnBatch', elements)));
    for (const { by, answer } of ended) {
      expect([by, answer?.error, answer?.message]).toEqual([0, undefined, undefined]);
      expect((answer?.value as BurnBatchResult | undefined)?.success).toHaveLength(ELEMENTS);
    }
    await checkBurned(3);
  });

  it('burn once for one key', async () => {
    const key = randomIds.uuid();
    const ended = await Promise.all([1, 2, 3].map(() => run('burnBatch', elements, key)));
    const answered = ended.filter(({ answer }) => answer?.error === undefined);
    const refused = ended.filter(({ answer }) => answer?.error !== undefined);
    expect(refused.map(({ answer }) => answer?.error)).toEqual(
      refused.map(() => 'ERR_DUPLICATE_IDEMPOTENCY_KEY'),
    );
    // One did it; whoever came after it was done has got the same answer.
    expect(answered.filter(({ answer }) => answer?.replayed === false)).toHaveLength(1);
    expect(new Set(answered.map(({ answer }) => JSON.stringify(answer?.value))).size).toBe(1);
    const again = await run('burnBatch', elements, key);
    expect(again.answer).toMatchObject({ replayed: true, value: answered[0]?.answer?.value });
    await checkBurned(1);
  });
});

describe('processes that work on one multisig at the same time', () => {
  const pipelines = [1, 2, 3, 4, 5].map((units) => aPipeline([burnAction(units / MICRO)]));

  it('set up a batch each, under an index each, and both can be executed', async () => {
    const ended = await Promise.all([1, 2, 3].map(() => run('initBatch', { pipelines })));
    expect(ended.map(({ answer }) => answer?.message)).toEqual([undefined, undefined, undefined]);
    const batches = ended.map(({ answer }) => answer?.value as InitBatchResult);
    expect(batches.map(({ batch }) => batch.status)).toEqual(['FINALIZED', 'FINALIZED', 'FINALIZED']);
    expect(batches.map(({ batch }) => batch.batchIndex).sort()).toEqual(['1', '2', '3']);
    const executed = await Promise.all(
      batches.map((init) =>
        run('executeBatch', { batchId: init.batch.id, signedTx: signApproval(template.project.owner, init) }),
      ),
    );
    const results = executed.map(({ answer }) => answer?.value as ExecuteBatchResult);
    expect(results.map(({ result }) => [result.totalSuccessful, result.totalFailed])).toEqual([
      [5, 0],
      [5, 0],
      [5, 0],
    ]);
    const { engine, chain, close } = await openDirectory(dataDir);
    const vault = await tokensOf(chain, template.project, template.project.registration.vaultAddress);
    expect(vault).toBe(SUPPLY_OF_WALLET - 45n);
    expect(await engine.status()).toMatchObject({ burned: '0.000045', usedToday: { burn: '0.000045' } });
    await close();
  });

  it('execute a batch once', async () => {
    const { answer } = await run('initBatch', { pipelines });
    const init = answer?.value as InitBatchResult;
    const input = { batchId: init.batch.id, signedTx: signApproval(template.project.owner, init) };
    const ended = await Promise.all([1, 2, 3].map(() => run('executeBatch', input)));
    const errors = ended.flatMap((one) => (one.answer?.error === undefined ? [] : [one.answer.error]));
    expect(errors).toEqual(errors.map(() => 'ERR_BATCH_IN_PROGRESS'));
    const done = ended.filter((one) => one.answer?.replayed === false);
    expect(done).toHaveLength(1);
    const { engine, close } = await openDirectory(dataDir);
    expect(await engine.status()).toMatchObject({ burned: '0.000015', usedToday: { burn: '0.000015' } });
    await close();
    expect(readBooks(dataDir)).toMatchObject({ integrity: ['ok', 'ok'], pending: { burns: 0, bundles: 0 } });
  });
});
