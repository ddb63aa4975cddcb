/** Engines that are killed at each commit, and at any time: the same request, run again, finishes exactly once. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateKeypair } from '../../src/chain/transaction/signer.js';
import type { OpenedEngine } from '../../src/compose/engine.js';
import type { BurnBatchResult } from '../../src/contract/schemas/burn.js';
import { address } from '../../src/values/address.js';
import { base58Encode } from '../../src/values/base58.js';
import { randomIds } from '../../src/values/ids.js';
import { Secret } from '../../src/values/secret.js';
import {
  type Books,
  buildProgram,
  copyOf,
  openDirectory,
  readBooks,
  removeProgram,
  runEngine,
  startEngine,
} from '../support/crash.js';
import type { EngineOrder } from '../support/crash-points.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  lamportsOf,
  openTestEngine,
  signApproval,
  type TestEngine,
  tokensOf,
} from '../support/engine.js';

/** Two intents, so that a process can die between them. */
const ELEMENTS = 130;
const MICRO = 1_000_000;
const UNLIMITED = '1000';

const elements = Array.from({ length: ELEMENTS }, (_, index) =>
  aBurnRequest((index + 1) / MICRO, { proof: { order: index }, persistOnchain: index % 10 === 0 }),
);
const units = (count: number): bigint[] => Array.from({ length: count }, (_, index) => BigInt(index + 1));
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);

const recipients = Array.from({ length: 3 }, () => address(base58Encode(generateKeypair().subarray(32))));
/** Burns 1 to 9 and airdrops 101 to 103 base units, in three bundles. */
const pipelines = Array.from({ length: 9 }, (_, index) => {
  const airdrops = recipients
    .slice(index, index + 1)
    .map((toAddress) => ({ action: 'AIRDROP' as const, toAddress, amount: (101 + index) / MICRO }));
  const memo = { action: 'MEMO' as const, message: `order ${index}` };
  return aPipeline([burnAction((index + 1) / MICRO), ...airdrops, memo], { payload: `{"order":${index}}` });
});
const BATCH_BURNS = sum(units(9));
const BATCH_AIRDROPS = 101n + 102n + 103n;

let template: TestEngine;
let finalized: { readonly dataDir: string; readonly batchId: string; readonly signedTx: string };
const directories: string[] = [];

beforeAll(async () => {
  await buildProgram();
  template = await openTestEngine({ dailyBurn: UNLIMITED, dailyAirdrop: UNLIMITED });
  await template.close();
  const dataDir = copied(template.dataDir);
  const opened = await openDirectory(dataDir);
  const { value } = await opened.engine.initBatch({ pipelines }, template.project.call());
  await opened.close();
  finalized = { dataDir, batchId: value.batch.id, signedTx: signApproval(template.project.owner, value) };
});
afterAll(() => {
  removeProgram();
  for (const directory of [...directories, template.dataDir]) rmSync(directory, { recursive: true });
});

function copied(dataDir: string): string {
  const copy = copyOf(dataDir);
  directories.push(copy);
  return copy;
}

type Task = Pick<EngineOrder, 'operation' | 'input'>;
interface Scenario extends Task {
  /** Data directory that every run begins with. */
  readonly from: string;
  /** What must be true of the books and the answer, however often the engine died. */
  readonly check: (opened: OpenedEngine, value: unknown, books: Books) => Promise<void>;
}

const scenarios = {
  burn: (): Scenario => ({
    operation: 'burn',
    input: elements[0],
    from: template.dataDir,
    check: async (opened, value, books) => {
      expect(value).toMatchObject({ result: 'SUCCESS' });
      expect(books.burns).toEqual([1n]);
      await checkBurns(opened, 1n);
    },
  }),
  burnBatch: (): Scenario => ({
    operation: 'burnBatch',
    input: elements,
    from: template.dataDir,
    check: async (opened, value, books) => {
      const { success, errors } = value as BurnBatchResult;
      expect(errors).toEqual([]);
      expect(new Set(success.map(({ txHash }) => txHash)).size).toBe(ELEMENTS);
      const records = await opened.chain.lookUp(success.map(({ txHash }) => txHash));
      expect(records.every((record) => record?.error === null)).toBe(true);
      expect(books.burns).toEqual(units(ELEMENTS));
      await checkBurns(opened, sum(units(ELEMENTS)));
    },
  }),
  initBatch: (): Scenario => ({
    operation: 'initBatch',
    input: { pipelines },
    from: template.dataDir,
    check: async (opened, value) => {
      expect(value).toMatchObject({
        batch: { status: 'FINALIZED', initResult: { total: 11, totalSuccessful: 11, totalFailed: 0 } },
      });
      expect(await opened.engine.countBatches()).toMatchObject({ FINALIZED: 1, AVAILABLE_TO_QUEUE: 0 });
      expect(await opened.engine.status()).toMatchObject({
        burned: '0',
        usedToday: { burn: '0.000045', airdrop: '0.000306' },
      });
      // What init left can be executed.
      const init = value as Parameters<typeof signApproval>[1];
      const signedTx = signApproval(template.project.owner, init);
      const call = template.project.call();
      const done = await opened.engine.executeBatch({ batchId: init.batch.id, signedTx }, call);
      await checkExecuted(opened, done.value, init.batch.id);
    },
  }),
  executeBatch: (): Scenario => ({
    operation: 'executeBatch',
    input: { batchId: finalized.batchId, signedTx: finalized.signedTx },
    from: finalized.dataDir,
    check: async (opened, value) => {
      await checkExecuted(opened, value, finalized.batchId);
    },
  }),
};

/** Supply, wallet and cap after so many base units were burned, and nothing else. */
async function checkBurns({ engine, chain }: OpenedEngine, burned: bigint): Promise<void> {
  const { project } = template;
  const text = `0.${burned.toString().padStart(6, '0')}`.replace(/0+$/, '');
  expect(await engine.status()).toMatchObject({ burned: text, usedToday: { burn: text, airdrop: '0' } });
  const left = await tokensOf(chain, project, project.registration.burnWallet);
  expect(left + burned).toBe(1_000_000_000_000n);
}

async function checkExecuted(opened: OpenedEngine, value: unknown, batchId: string): Promise<void> {
  const { engine, chain } = opened;
  const { project } = template;
  expect(value).toMatchObject({ batchId, result: { total: 9, totalSuccessful: 9, totalFailed: 0 } });
  expect(await engine.status()).toMatchObject({
    burned: '0.000045',
    usedToday: { burn: '0.000045', airdrop: '0.000306' },
  });
  const received = await Promise.all(recipients.map((wallet) => tokensOf(chain, project, wallet)));
  expect(received).toEqual([101n, 102n, 103n]);
  const vault = await tokensOf(chain, project, project.registration.vaultAddress);
  expect(vault + BATCH_BURNS + BATCH_AIRDROPS).toBe(1_000_000_000_000n);
  const { value: batch, meta } = await engine.getBatch({ batchId }, project.call());
  expect(batch.status).toBe('EXECUTED');
  // The operator paid exactly what the batch says it cost, and has its rent back.
  const { feeLamports, rentPaidLamports, rentReclaimedLamports } = meta.cost ?? expect.fail();
  expect(rentReclaimedLamports).toBe(rentPaidLamports);
  const operator = await lamportsOf(chain, project.registration.operator);
  expect(operator + feeLamports).toBe(20_000_000_000n);
}

const orderOf = (
  { operation, input }: Task,
  dataDir: string,
  idempotencyKey: string,
  killAt: number | null,
): EngineOrder => ({
  dataDir,
  operation,
  input,
  key: template.project.key.reveal(),
  idempotencyKey,
  killAt,
});

/** Runs the request to its end in this process, and checks that nothing was lost or done twice. */
async function finishAndAudit(scenario: Scenario, dataDir: string, idempotencyKey: string): Promise<void> {
  const opened = await openDirectory(dataDir);
  try {
    const call = { credential: new Secret(template.project.key.reveal()), idempotencyKey };
    const run = opened.engine[scenario.operation] as (
      input: unknown,
      call: unknown,
    ) => Promise<{ value: unknown }>;
    const { value } = await run(scenario.input, call);
    const again = await run(scenario.input, call);
    expect(again.value).toEqual(value);
    const books = readBooks(dataDir);
    expect(books.integrity).toEqual(['ok', 'ok']);
    expect(books.pending).toEqual({ burns: 0, bundles: 0 });
    await scenario.check(opened, value, books);
  } finally {
    await opened.close();
    rmSync(dataDir, { recursive: true });
    directories.splice(directories.indexOf(dataDir), 1);
  }
}

/** How many points an undisturbed run passes. */
async function countPoints(scenario: Scenario): Promise<number> {
  const dataDir = copied(scenario.from);
  const key = randomIds.uuid();
  const { by, answer } = await runEngine(orderOf(scenario, dataDir, key, null));
  expect(by).toBe(0);
  await finishAndAudit(scenario, dataDir, key);
  return answer?.points ?? 0;
}

/** Kills one engine after the other on the same request, then finishes it. @returns how many were killed. */
async function killAndFinish(scenario: Scenario, killsAt: readonly number[]): Promise<number> {
  const dataDir = copied(scenario.from);
  const key = randomIds.uuid();
  let killed = 0;
  for (const killAt of killsAt) {
    const { by } = await runEngine(orderOf(scenario, dataDir, key, killAt));
    if (by === 'SIGKILL') killed += 1;
    else expect(by).toBe(0);
  }
  await finishAndAudit(scenario, dataDir, key);
  return killed;
}

/** Works through a list, as many items at once as the machine has use for. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const rest = [...items.entries()];
  const results: Result[] = [];
  const lane = async (): Promise<void> => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
      const [index, item] = next;
      results[index] = await work(item);
    }
  };
  await Promise.all([lane(), lane()]);
  return results;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe.each(['burn', 'burnBatch', 'initBatch', 'executeBatch'] as const)('%s', (name) => {
  it('finishes exactly once, whichever commit it is killed at', async () => {
    const scenario = scenarios[name]();
    const points = await countPoints(scenario);
    expect(points).toBeGreaterThanOrEqual(6);
    const killed = await inParallel(range(points), (point) => killAndFinish(scenario, [point]));
    expect(killed).toEqual(range(points).map(() => 1));
  });

  it('finishes exactly once, though whoever carries it on is killed too', async () => {
    const scenario = scenarios[name]();
    const points = await countPoints(scenario);
    // Each point comes with a second and a third one that differ from case to case.
    const cases = range(points).map((point) => [point, ((point * 7) % points) + 1, ((point * 3) % 5) + 1]);
    const killed = await inParallel(cases, (killsAt) => killAndFinish(scenario, killsAt));
    expect(killed.reduce((total, one) => total + one)).toBeGreaterThan(points);
  });

  it('finishes exactly once, whenever it is killed', async () => {
    const scenario = scenarios[name]();
    await inParallel(range(12), async (run) => {
      const dataDir = copied(scenario.from);
      const key = randomIds.uuid();
      const { child, ready, ended } = startEngine(orderOf(scenario, dataDir, key, null));
      await ready;
      setTimeout(() => child.kill('SIGKILL'), run * 5);
      await ended;
      await finishAndAudit(scenario, dataDir, key);
    });
  });
});
