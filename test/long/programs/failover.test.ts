/** The primary is lost and a lagging standby is promoted during a burn: it burns once. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabaseWay } from '../../support/database-way.js';
import { ask } from '../../support/http-serve.js';
import { type Machine, type MachineProject, type Machines, openMachines } from '../../support/machines.js';
import { type PostgresServer, queryAt } from '../../support/postgres.js';

/** Transactions stay in transit longer than a promotion takes. */
const LATE = { fault: 'late', slots: 50, methods: ['sendTransaction'] } as const;
const SLOT_MS = 40;
/** A high rate limit for repeated requests. */
const OFTEN = ['--rate', 'burn=100000/s'];

let world: Machines;
let machines: readonly Machine[];
let standby: PostgresServer;

beforeAll(async () => {
  world = await openMachines({
    ...{ projects: [{ name: 'fly' }], slotMs: SLOT_MS, faults: [LATE] },
    postgres: ['wal_level=replica', 'max_wal_senders=4'],
  });
  machines = [await world.openMachine(OFTEN), await world.openMachine(OFTEN)];
  for (const machine of machines) await machine.start();
}, 120_000);
afterAll(async () => {
  await world.close();
  await standby.stop();
});

async function burn(
  at: number,
  idempotencyKey: string,
): Promise<{ status: number; text: string; retryAfter: string | null }> {
  const [project] = world.projects as [MachineProject];
  const answer = await ask(`${machines[at]?.process?.url}/v1/tokenomics/burn`, project.apiKey, {
    body: { type: 'PRODUCT_BUY', proof: { order: 'A-1' }, burnAmount: 1, persistOnchain: false },
    idempotencyKey,
  });
  return { status: answer.status, text: await answer.text(), retryAfter: answer.headers.get('retry-after') };
}

const supply = (): Promise<bigint> => world.supplyOf(world.projects[0] as MachineProject);

const burnsAt = async (url: string): Promise<number> =>
  Number((await queryAt<{ count: string }>(url, 'select count(*) from burns'))[0]?.count);

it('burns once what was on its way when a standby that had not heard of it took over', async () => {
  const { database } = world;
  const full = await supply();
  expect((await burn(0, 'before')).status).toBe(200);
  const way = await openDatabaseWay(database.url);
  standby = await database.standby(way.url);
  await expect.poll(() => burnsAt(standby.url)).toBe(1);
  way.close(true);
  way.cut();

  const key = randomUUID();
  const lost = burn(0, key).catch((error: unknown) => error);
  await expect.poll(() => burnsAt(database.url)).toBe(2);
  await database.stop();
  await queryAt(standby.url, 'select pg_promote()');
  for (const machine of machines) machine.way.leadTo(standby.url);

  const answers = new Set<string>();
  let answer = await burn(1, key);
  for (; answer.status === 503 && !answer.text.includes('ERR_STORE_BEHIND'); answer = await burn(1, key)) {
    expect(Number(answer.retryAfter)).toBeGreaterThan(0);
    answers.add(answer.text);
  }
  expect([...answers].some((text) => text.includes('may still land'))).toBe(true);
  expect([answer.status, answer.text]).toEqual([503, expect.stringContaining('The chain has 1 burns')]);
  await lost;
  expect(full - (await supply())).toBe(2_000_000n);
  await way.end();
}, 120_000);
