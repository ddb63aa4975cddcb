/**
 * One, two and four servers on one PostgreSQL with a million burns, ten thousand batches and a thousand projects in it. Takes
 * minutes; what it prints is what docs/capacity.md says.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { InitBatchResult } from '../../src/contract/schemas/batch.js';
import { signApproval } from '../support/engine.js';
import { ask } from '../support/http-serve.js';
import { type Machine, type MachineProject, type Machines, openMachines } from '../support/machines.js';
import type { BenchRatio } from './ratio.js';
import { fill } from './scale/fill.js';
import { type Load, measureLoad, processorMs } from './scale/load.js';
import { PLAN_SETTINGS, wastefulPlans, writePlans } from './scale/plans.js';

const AMOUNTS = { projects: 1_000, burns: 1_000_000, batches: 10_000 } as const;
const ACTIVE_PROJECTS = 8;
const SLOT_MS = 400;
const BURNS = 600;
const AT_ONCE = 48;
const IDLE_MS = 31_000;
const SERVERS = [1, 2, 4] as const;
/** A server plans a statement for any values, and not for those that it is given, after it has been asked a few times. */
const TIMES = 7;
const WORDS = ['burn', 'init', 'execute'].flatMap((name) => ['--rate', `${name}=100000/s`]);

/** Sizes and number of rows by table. */
async function sizes(client: pg.Client): Promise<ReadonlyMap<string, { bytes: number; rows: number }>> {
  const { rows } = await client.query<{ name: string; bytes: number; rows: number }>(
    `select relname as name, pg_total_relation_size(oid)::float8 as bytes, reltuples::float8 as rows
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  return new Map(rows.map(({ name, ...one }) => [name, one]));
}

const burnOnce = (url: string, { apiKey }: MachineProject): Promise<Response> =>
  ask(`${url}/v1/tokenomics/burn`, apiKey, {
    body: { type: 'PRODUCT_BUY', proof: { order: 'A-1' }, burnAmount: 0.000001, persistOnchain: false },
    idempotencyKey: randomUUID(),
  });

async function executeOne(url: string, { apiKey, owner }: MachineProject): Promise<void> {
  const pipelines = Array.from({ length: 10 }, (_, index) => ({
    type: 'PRODUCT_BUY',
    payload: JSON.stringify({ order: index }),
    actions: [{ action: 'BURN', amount: 0.000001 }],
  }));
  const post = async <Value>(step: string, body: unknown): Promise<Value> => {
    const answer = await ask(`${url}/v1/flywheel/batch/${step}`, apiKey, {
      body,
      idempotencyKey: randomUUID(),
    });
    if (answer.status !== 200) throw new Error(`${step}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Value;
  };
  const made = await post<InitBatchResult>('init', { pipelines });
  await post('execute', { batchId: made.batch.id, signedTx: signApproval(owner, made) });
}

/** Everything that is read, once, so that its statements are known. */
async function readAll(url: string, { apiKey }: MachineProject): Promise<void> {
  const hash = 'a'.repeat(64);
  const paths = [
    ...[
      '/v1/tokenomics/burns',
      `/v1/tokenomics/burns?proofHash=${hash}`,
      '/v1/tokenomics/burns?status=SUCCESS',
    ],
    ...['/v1/tokenomics/report', '/v1/tokenomics/key', '/v1/flywheel/batch/current', '/v1/flywheel/batch'],
    ...[`/v1/flywheel/batch?proofHash=${hash}`, `/v1/flywheel/batch/${randomUUID()}`, '/metrics', '/readyz'],
  ];
  for (const path of paths) await (await ask(url + path, apiKey)).text();
}

async function loadOf(world: Machines, count: number): Promise<{ load: Load; idleMs: number }> {
  const machines: Machine[] = [];
  for (let index = 0; index < count; index += 1) machines.push(await world.openMachine(WORDS));
  for (const machine of machines) await machine.start();
  const servers = machines.map(({ process }) => process as NonNullable<typeof process>);
  const serverPids = servers.map(({ child }) => child.pid ?? 0);
  const terms = {
    ...{ urls: servers.map(({ url }) => url), serverPids, projects: world.projects },
    ...{ databaseUrl: world.database.url, databasePid: world.database.pid },
  };
  await measureLoad({ ...terms, burns: AT_ONCE, atOnce: AT_ONCE });
  const load = await measureLoad({ ...terms, burns: BURNS, atOnce: AT_ONCE });
  const before = processorMs(serverPids[0] ?? 0);
  await new Promise((done) => setTimeout(done, count === 1 ? IDLE_MS : 0));
  const idleMs = processorMs(serverPids[0] ?? 0) - before;
  for (const machine of machines) await machine.end();
  return { load, idleMs };
}

/** Does everything once more on a server while plans are written down. */
async function plansOf(world: Machines, client: pg.Client): Promise<readonly string[]> {
  const [project] = world.projects as [MachineProject];
  await writePlans(client, true);
  const machine = await world.openMachine(WORDS);
  await machine.start();
  const url = machine.process?.url ?? '';
  for (let time = 0; time < TIMES; time += 1) {
    await burnOnce(url, project);
    await executeOne(url, project);
    await readAll(url, project);
  }
  await machine.end();
  await writePlans(client, false);
  return wastefulPlans(client);
}

const rowsOf = (count: number, load: Load): BenchRatio[] => {
  const of = `scale: ${count} ${count === 1 ? 'server' : 'servers'}, ${AT_ONCE} at once`;
  return [
    { name: `${of}: median of a burn, in slots`, ratio: load.p50Ms / SLOT_MS, target: 4, unit: 'slots' },
    { name: `${of}: 99 of 100 burns, in slots`, ratio: load.p99Ms / SLOT_MS, target: 8, unit: 'slots' },
    { name: `${of}: processor of the servers, a burn`, ratio: load.serverMs, target: 15, unit: 'ms' },
    { name: `${of}: processor of the database, a burn`, ratio: load.databaseMs, target: 8, unit: 'ms' },
    { name: `${of}: statements a burn`, ratio: load.statements, target: 14, unit: '' },
    { name: `${of}: waiting for locks, a burn`, ratio: load.lockWaitMs, target: 50, unit: 'ms' },
    { name: `${of}: burns a second`, ratio: load.burnsASecond, target: 1, atLeast: true, unit: '' },
  ];
};

export async function benchScale(): Promise<BenchRatio[]> {
  const world = await openMachines({
    projects: Array.from({ length: ACTIVE_PROJECTS }, (_, index) => ({ name: `active-${index}` })),
    slotMs: SLOT_MS,
    postgres: [...PLAN_SETTINGS, 'max_connections=120'],
  });
  const client = new pg.Client({ connectionString: world.database.url });
  try {
    await client.connect();
    await client.query('create extension pg_stat_statements');
    const first = await world.openMachine(WORDS);
    await first.start();
    const url = first.process?.url ?? '';
    const [project] = world.projects as [MachineProject];
    await burnOnce(url, project);
    await executeOne(url, project);
    await first.end();
    const empty = await sizes(client);
    await fill(client, AMOUNTS);
    const full = await sizes(client);
    const grown = (name: string): number => (full.get(name)?.bytes ?? 0) - (empty.get(name)?.bytes ?? 0);
    const rows: BenchRatio[] = [
      { name: 'scale: bytes a burn', ratio: grown('burns') / AMOUNTS.burns, target: 2_500, unit: 'B' },
      {
        name: 'scale: bytes a request, until it is forgotten',
        ratio: grown('requests') / AMOUNTS.burns,
        target: 2_500,
        unit: 'B',
      },
    ];
    for (const count of SERVERS) {
      const { load, idleMs } = await loadOf(world, count);
      rows.push(...rowsOf(count, load));
      if (count === 1) {
        const name = 'scale: processor of an idle server with its reconciler, a minute';
        rows.push({ name, ratio: (idleMs * 60_000) / IDLE_MS, target: 1_000, unit: 'ms' });
      }
    }
    const wasteful = await plansOf(world, client);
    for (const plan of wasteful) process.stderr.write(`${plan}\n`);
    rows.push({ name: 'scale: statements with a wasteful plan', ratio: wasteful.length, target: 0 });
    return rows;
  } finally {
    await client.end();
    await world.close();
  }
}
