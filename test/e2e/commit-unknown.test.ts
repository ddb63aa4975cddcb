/** Loses the answer to each commit of a burn-batch in turn: a repeat under the same key burns each element once. */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask } from '../support/http-serve.js';
import { sampleOf } from '../support/long.js';
import { type Machine, type MachineProject, type Machines, openMachines } from '../support/machines.js';

const ELEMENTS = 80;
/** Of each request: commit 1 stores the intents, commit 2 the outcomes with the answer. */
const COMMITS = sampleOf([2, 1], 1);
const TOKEN = 1_000_000n;

let world: Machines;
let client: pg.Client;

beforeAll(async () => {
  // Once lost before the commit reaches the database, once after.
  const names = COMMITS.flatMap((nth) => [`before${nth}`, `after${nth}`]);
  world = await openMachines({
    projects: names.map((name) => ({ name, dailyBurn: String(ELEMENTS + 1) })),
    slotMs: 40,
  });
  client = new pg.Client({ connectionString: world.database.url });
  await client.connect();
}, 120_000);
afterAll(async () => {
  await client.end();
  await world.close();
});

const burns = (count: number) =>
  Array.from({ length: count }, (_, order) => ({
    ...{ type: 'PRODUCT_BUY', proof: { order }, burnAmount: 1, persistOnchain: false },
  }));

async function stored({ registration: { tokenId } }: MachineProject): Promise<readonly object[]> {
  const { rows } = await client.query<object>(
    `select count(*)::int as burns, count(*) filter (where status in ('CONFIRMED', 'FINAL'))::int as landed,
       (coalesce(sum(amount::numeric) filter (where status = 'CONFIRMED'), 0)
         + (select coalesce(sum(landed::numeric), 0) from daily_usage where token_id = $1))::text as used,
       (select count(*)::int from requests where token_id = $1 and status <> 'done') as running
     from burns where token_id = $1`,
    [tokenId],
  );
  return rows;
}

interface Case {
  readonly machine: Machine;
  readonly project: MachineProject;
  readonly nth: number;
  readonly hasArrived: boolean;
}

async function burnedOver({ machine, project, nth, hasArrived }: Case): Promise<object> {
  const full = await world.supplyOf(project);
  const post = (body: unknown, idempotencyKey: string) =>
    ask(`${machine.process?.url}/v1/tokenomics/burn-batch`, project.apiKey, { body, idempotencyKey });
  const until = async (body: unknown, key: string): Promise<Response> => {
    const answer = await post(body, key);
    if (answer.status !== 409 && answer.status !== 503) return answer;
    await setTimeout(20);
    return until(body, key);
  };
  // Everything that is written once a project exists by now.
  expect((await until(burns(1), randomUUID())).status).toBe(200);
  machine.way.cutAtCommit(nth, hasArrived);
  const [body, key] = [burns(ELEMENTS), randomUUID()];
  // If the lost commit belongs to the server's own confirmation loop, no caller sees an error.
  expect([200, 503]).toContain((await post(body, key)).status);
  const again = await until(body, key);
  const { success, errors } = (await again.json()) as { success: unknown[]; errors: unknown[] };
  return {
    again: [again.status, success.length, errors.length],
    burned: (full - (await world.supplyOf(project))) / TOKEN,
    stored: await stored(project),
  };
}

it('burns each element once, whichever commit is lost, and leaves nothing pending', async () => {
  const found = await Promise.all(
    COMMITS.map(async (nth, at) => {
      const machine = await world.openMachine(['--rate', 'burn-batch=1000/s']);
      await machine.start();
      const [before, after] = world.projects.slice(2 * at) as [MachineProject, MachineProject];
      return [
        await burnedOver({ machine, project: before, nth, hasArrived: false }),
        await burnedOver({ machine, project: after, nth, hasArrived: true }),
      ];
    }),
  );
  const count = ELEMENTS + 1;
  const once = {
    again: [200, ELEMENTS, 0],
    burned: BigInt(count),
    stored: [{ burns: count, landed: count, used: String(BigInt(count) * TOKEN), running: 0 }],
  };
  expect(found).toEqual(COMMITS.map(() => [once, once]));
}, 180_000);
