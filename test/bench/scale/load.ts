/** Burns by several servers at once: how long each takes, and what it costs the servers and the database. */
import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { Agent, request } from 'undici';
import type { MachineProject } from '../../support/machines.js';

/** Hertz of the times in /proc; the same on all machines that Linux runs on now. */
const TICKS_A_SECOND = 100;
const SAMPLE_MS = 20;

/** Milliseconds of the processor that a process and those that it has waited for have had. */
export function processorMs(pid: number): number {
  const fields = statOf(pid)?.slice(11, 15) ?? [];
  return (fields.reduce((sum, ticks) => sum + Number(ticks), 0) * 1_000) / TICKS_A_SECOND;
}

/** The fields behind the name, or `undefined` when it has ended. */
function statOf(pid: number): readonly string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return undefined;
  }
}

/** The same of a process and all its children, as PostgreSQL is. */
function familyMs(pid: number): number {
  const children = readdirSync('/proc')
    .map(Number)
    .filter((one) => one > 0 && statOf(one)?.[1] === String(pid));
  return [pid, ...children].reduce((sum, one) => sum + processorMs(one), 0);
}

export interface Load {
  readonly burns: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly burnsASecond: number;
  /** Milliseconds of the processor for each burn. */
  readonly serverMs: number;
  readonly databaseMs: number;
  /** Statements for each burn, `begin` and `commit` among them. */
  readonly statements: number;
  /** Milliseconds that a burn waits for locks of the database. */
  readonly lockWaitMs: number;
}

export interface LoadTerms {
  readonly urls: readonly string[];
  readonly serverPids: readonly number[];
  readonly databaseUrl: string;
  readonly databasePid: number;
  readonly projects: readonly MachineProject[];
  readonly burns: number;
  readonly atOnce: number;
}

/** @throws when a burn fails. */
export async function measureLoad(terms: LoadTerms): Promise<Load> {
  const { urls, serverPids, databasePid, projects, burns, atOnce } = terms;
  const watcher = await watchDatabase(terms.databaseUrl);
  const agent = new Agent({ connections: atOnce });
  const before = { servers: sum(serverPids.map(processorMs)), database: familyMs(databasePid) };
  const times: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < burns; index = next++) {
      const project = projects[index % projects.length] as MachineProject;
      const startMs = performance.now();
      await burnOnce(agent, urls[index % urls.length] as string, project.apiKey, index);
      times.push(performance.now() - startMs);
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: atOnce }, client));
  const wallMs = performance.now() - startMs;
  const { statements, waitedMs } = await watcher.end();
  await agent.close();
  const sorted = times.sort((one, other) => one - other);
  const at = (part: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return {
    burns,
    ...{ p50Ms: at(0.5), p99Ms: at(0.99), burnsASecond: (burns * 1_000) / wallMs },
    serverMs: (sum(serverPids.map(processorMs)) - before.servers) / burns,
    databaseMs: (familyMs(databasePid) - before.database) / burns,
    ...{ statements: statements / burns, lockWaitMs: waitedMs / burns },
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);

async function burnOnce(agent: Agent, url: string, apiKey: string, index: number): Promise<void> {
  const { statusCode, body } = await request(`${url}/v1/tokenomics/burn`, {
    method: 'POST',
    dispatcher: agent,
    headers: {
      'x-service-api-key': apiKey,
      'x-idempotency-key': randomUUID(),
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      ...{ type: 'PRODUCT_BUY', proof: { order: index }, burnAmount: 0.000001, persistOnchain: false },
    }),
  });
  const text = await body.text();
  assert.equal(statusCode, 200, text);
}

/** Counts statements, and looks again and again who waits for a lock. */
async function watchDatabase(url: string) {
  const client = new pg.Client({ connectionString: url, application_name: 'watcher' });
  await client.connect();
  await client.query('select pg_stat_statements_reset()');
  let waitedMs = 0;
  let lookedMs = performance.now();
  let isOver = false;
  const looking = (async () => {
    while (!isOver) {
      const { rows } = await client.query<{ waiting: number }>(
        "select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock'",
      );
      const nowMs = performance.now();
      waitedMs += (rows[0]?.waiting ?? 0) * (nowMs - lookedMs);
      lookedMs = nowMs;
      await new Promise((done) => setTimeout(done, SAMPLE_MS));
    }
  })();
  return {
    async end() {
      isOver = true;
      await looking;
      const { rows } = await client.query<{ calls: number }>(
        "select sum(calls)::float8 as calls from pg_stat_statements where query not like '%pg_stat%'",
      );
      await client.end();
      return { statements: rows[0]?.calls ?? 0, waitedMs };
    },
  };
}
