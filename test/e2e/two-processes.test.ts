/** Several processes on one data directory at the same time: they take turns, and the audit finds no error. */
import { spawnSync } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { FILES } from '../simulation/audit/tables.js';
import { serveHere } from '../support/flywheel-here.js';
import { ask } from '../support/http-serve.js';
import type { Spawned } from '../support/spawn.js';
import { rawSqlite } from '../support/store.js';
import { balancedBooks } from './books.js';
import { pipelinesOf } from './deeds.js';
import type { Fate } from './gate.js';
import { anOperator, ending, expectProblem, gateOf, type Operator } from './operator.js';

/** More than fit into one intent, and than two processes finish within a blockhash's lifetime. */
const AMOUNTS = Array.from({ length: 140 }, (_, index) => BigInt(index + 1) * 1_000n);
const UNITS = 1_000_000;
const burns = (name: string) =>
  AMOUNTS.map((amount, order) => ({
    ...{
      type: 'WATCH_AD',
      proof: { name, order },
      burnAmount: Number(amount) / UNITS,
      persistOnchain: false,
    },
  }));

let operator: Operator;
beforeAll(async () => {
  operator = await anOperator('embedded');
});

const all = (...commands: readonly (readonly string[])[]): Promise<readonly Spawned[]> =>
  Promise.all(commands.map((words) => operator.runWith({}, ...words, '--json')));
const exits = (ended: readonly Spawned[]): readonly (readonly [number | null, string])[] =>
  ended.map(({ exit, stderr }) => [exit, exit === 0 ? '' : stderr]);
const DONE = [0, ''] as const;

it('that burn do all that each was asked for, and once what two were', async () => {
  const files = ['one', 'two'].map((name) => operator.write(`${name}.json`, burns(name)));
  const [one = '', two = ''] = files;
  const ended = await all(['burn-batch', one], ['burn-batch', two], ['burn-batch', one]);
  expect(exits(ended)).toEqual([DONE, DONE, DONE]);
  const values = ended.map(({ stdout }) => JSON.parse(stdout));
  expect(values.map(({ success, errors }) => [success.length, errors])).toEqual(values.map(() => [140, []]));
  expect(values[2]).toEqual(values[0]);
  const hashes = values.slice(0, 2).flatMap(({ success }) => success.map(({ txHash }: never) => txHash));
  expect(new Set(hashes).size).toBe(280);
  const books = balancedBooks(operator.dataDir);
  expect(books.burns(AMOUNTS)).toEqual(AMOUNTS.map(() => 2));
  expect(books.lamports).toBe(operator.template.lamports);
  expect(await operator.happened()).toMatchObject({ burned: '19.74', usedToday: { burn: '19.74' } });
});

it('that set up a batch each get an index each, and each is executed once, whoever executes it', async () => {
  const before = Number((await operator.happened()).burned);
  const words = ['a', 'b'].map((name) => ['batch', 'init', operator.write(name, pipelinesOf(name))]);
  const inits = await all(...words);
  expect(exits(inits)).toEqual([DONE, DONE]);
  const batches = inits.map(({ stdout }) => JSON.parse(stdout).batch);
  expect(batches.map(({ batchIndex }) => batchIndex).sort()).toEqual(['1', '2']);
  const execute = ({ id }: { id: string }, file: string) => [
    ...['batch', 'execute', id, '--approval', id, '--keypair', operator.owner, '--expect', file, '--yes'],
  ];
  const [a, b] = batches;
  expect(exits(await all(execute(a, 'a'), execute(b, 'b'), execute(a, 'a')))).toEqual([DONE, DONE, DONE]);
  expect(await operator.happened()).toMatchObject({
    ...{ burned: String(Math.round((before + 6) * 100) / 100), batches: ['EXECUTED', 'EXECUTED'] },
  });
  expect(balancedBooks(operator.dataDir).lamports).toBe(operator.template.lamports);
});

it('that approve batches with the same proofs at once sign one of them', async () => {
  const { owner, directory, dataDir, key } = operator;
  operator.write('twin.json', pipelinesOf('twin'));
  const server = await serveHere({ home: directory, dataDir });
  const pipelines = pipelinesOf('twin').map((one) => ({ ...one, payload: JSON.stringify(one.payload) }));
  const initiated = async (): Promise<string> => {
    const answer = await ask(`${server.url}/v1/flywheel/batch/init`, key, { body: { pipelines } });
    return ((await answer.json()) as { batch: { id: string } }).batch.id;
  };
  const [slow, fast] = [await initiated(), await initiated()];
  await server.end('SIGTERM');
  const approve = (id: string, keypair: string) => [
    ...['batch', 'approve', id, '--keypair', keypair, '--expect', 'twin.json', '--yes', '--json'],
  ];
  // A pipe is read just before the signature, and opens for both ends at once.
  const pipe = join(directory, 'pipe');
  expect(spawnSync('mkfifo', ['-m', '600', pipe]).status).toBe(0);
  const ended = ending(operator.start(...approve(slow, pipe)));
  const opened = await Promise.race([open(pipe, 'w'), ended.then(() => open(pipe, 'r+'))]);
  const first = await operator.run(...approve(fast, owner));
  await opened.writeFile(await readFile(owner));
  await opened.close();
  const second = await ended;
  expect([first.exit, JSON.parse(first.stdout).batchId]).toEqual([0, fast]);
  expectProblem(second, 2, { stdout: '', error: 'ERR_INPUT_INVALID' });
});

it('of which one runs, and its operation, are told apart by its lease', async () => {
  const alone = await anOperator('remote', [], { pinned: false });
  let [arrive, answer] = [(): void => undefined, (): void => undefined];
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  gateOf(alone).fate = async ({ method }): Promise<Fate> => {
    if (method !== 'POST') return 'pass';
    arrive();
    await answered;
    return 'pass';
  };
  const file = alone.write('held.json', burns('held').slice(0, 2));
  const running = alone.runWith({}, 'burn-batch', file, '--json');
  await arrived;
  const journal = join(alone.directory, '.config/flywheel', FILES.journal);
  const [{ id, running: isRunning }] = JSON.parse((await alone.run('pending', '--json')).stdout);
  const forget = ['pending', 'forget', id, '--yes'];
  expect([isRunning, (await alone.run(...forget, '--wait', '1')).exit]).toEqual([true, 8]);
  // As after a process that stood still for longer than its lease.
  rawSqlite(journal, 'UPDATE operations SET held_until = 0');
  expect((await alone.run(...forget)).exit).toBe(0);
  answer();
  expectProblem(await running, 7, { hint: 'flywheel history' });
  expect((await alone.happened()).burned).toBe('0.003');
  await alone.leave();
});
