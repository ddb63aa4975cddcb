/** Faults of servers, database and connections; each ends after some seconds. */
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { Random } from '../../fuzz/random.js';
import { HOLDING_STATEMENTS } from '../../simulation/audit/tables.js';
import type { Machine } from '../../support/machines.js';
import type { World } from './world.js';

const SHORT_MS = 2_000;

export interface Mishap {
  readonly name: string;
  happen(world: World, random: Random): Promise<void>;
}

const up = ({ machines }: World): readonly Machine[] =>
  machines.filter(({ process }) => process !== undefined);

async function restart(world: World, random: Random, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const left = up(world);
  // One server stays: clients without any server prove nothing.
  if (left.length < 2) return;
  const machine = random.pick(left);
  const ended = machine.process?.end(signal);
  machine.process = undefined;
  await ended;
  await setTimeout(random.below(SHORT_MS));
  for (;;) {
    try {
      await machine.start();
      return;
    } catch {
      // The database may be down too; a supervisor restarts servers.
      await setTimeout(200);
    }
  }
}

async function connected({ database }: World): Promise<pg.Client | undefined> {
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch {
    return undefined;
  }
}

/** A manual database session locks rows and stays idle. */
async function idle(world: World, random: Random): Promise<void> {
  const client = await connected(world);
  try {
    await client?.query("begin; set local lock_timeout = '2s'");
    await client?.query(random.pick(HOLDING_STATEMENTS));
    await setTimeout(SHORT_MS + random.below(2 * SHORT_MS));
    await client?.query('rollback');
  } catch {
    // The session was terminated, or did not get the lock.
  } finally {
    await client?.end().catch(() => undefined);
  }
}

async function exhaust(world: World, random: Random): Promise<void> {
  const clients: pg.Client[] = [];
  for (let client = await connected(world); client !== undefined && clients.length < 100; ) {
    clients.push(client);
    client = await connected(world);
  }
  await setTimeout(SHORT_MS + random.below(SHORT_MS));
  await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
}

async function terminate(world: World): Promise<void> {
  const client = await connected(world);
  await client
    ?.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'flywheel%'")
    .catch(() => undefined);
  await client?.end().catch(() => undefined);
}

export const KILL: Mishap = {
  name: 'server killed',
  happen: (world, random) => restart(world, random, 'SIGKILL'),
};

export const MISHAPS: readonly Mishap[] = [
  { name: 'server drained', happen: (world, random) => restart(world, random, 'SIGTERM') },
  {
    name: 'connections cut',
    happen: async ({ machines }, random) => random.pick(machines).way.cut(),
  },
  {
    name: 'way held',
    async happen({ machines }, random) {
      const { way } = random.pick(machines);
      way.hold(true);
      await setTimeout(SHORT_MS + random.below(3 * SHORT_MS));
      way.hold(false);
    },
  },
  {
    name: 'way closed',
    async happen({ machines }, random) {
      const { way } = random.pick(machines);
      way.close(true);
      way.cut();
      await setTimeout(SHORT_MS + random.below(SHORT_MS));
      way.close(false);
    },
  },
  {
    name: 'database restarted',
    happen: ({ database }, random) => database.restart(() => setTimeout(random.below(SHORT_MS))),
  },
  { name: 'transaction left idle', happen: idle },
  { name: 'connections used up', happen: exhaust },
  { name: 'backends terminated', happen: terminate },
];
