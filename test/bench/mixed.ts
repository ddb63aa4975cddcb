/**
 * The built server, as a process of its own, under what a shop and a dashboard ask of it: 300 requests a second of 50 keys, seven
 * reads to three burns. They arrive as they do from people, at random and whether or not the earlier ones are answered, and a request
 * that is late to be sent has waited since it was due. The disk is asked for its own time in the same seconds.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { initHome, type ServedHome, serve } from '../support/http-serve.js';
import { flywheel } from '../support/spawn.js';
import type { BenchRatio } from './ratio.js';

const KEYS = 50;
const A_SECOND = 300;
const WARM_UP_SECONDS = 5;
const SECONDS = 20;
const RUNS = 3;
/** Of each run of the server that does nothing. */
const FLOOR_SECONDS = 10;
/** Writes of the yardstick: few beside those of the server. */
const SYNCS_A_SECOND = 50;
const SYNC_BYTES = 4_096;
/** Far more than are ever open at once, so that none waits for another here. */
const CONNECTIONS = 100;
const MS = 1_000;

type Kind = 'burn' | 'current' | 'list';

/** Of ten requests. */
const MIX: readonly Kind[] = [
  ...['burn', 'current', 'current', 'list', 'current'],
  ...['burn', 'current', 'current', 'burn', 'current'],
] as readonly Kind[];

const PATHS: Readonly<Record<Kind, string>> = {
  burn: '/v1/tokenomics/burn',
  current: '/v1/flywheel/batch/current',
  list: '/v1/tokenomics/burns?limit=20',
};

interface Latencies {
  readonly p50: number;
  readonly p99: number;
}

interface Run {
  readonly burn: Latencies;
  readonly current: Latencies;
  readonly sync: Latencies;
}

function latencies(times: readonly number[]): Latencies {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Numbers between 0 and 1 that are the same in every run (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Does things when they are due, however long those before them take, until all are done. */
async function openLoop(
  seconds: number,
  gapMs: () => number,
  act: (index: number, dueMs: number) => Promise<void>,
): Promise<void> {
  const startMs = performance.now();
  const acts: Promise<void>[] = [];
  for (let dueMs = startMs + gapMs(); dueMs < startMs + seconds * MS; dueMs += gapMs()) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await setTimeout(waitMs);
    acts.push(act(acts.length, dueMs));
  }
  await Promise.all(acts);
}

async function askOnce(agent: Agent, url: string, key: string, kind: Kind, index: number): Promise<void> {
  const isBurn = kind === 'burn';
  const { statusCode, body } = await request(url + PATHS[kind], {
    method: isBurn ? 'POST' : 'GET',
    dispatcher: agent,
    headers: {
      'x-service-api-key': key,
      ...(isBurn ? { 'x-idempotency-key': randomUUID(), 'content-type': 'application/json' } : {}),
    },
    ...(isBurn
      ? {
          body: JSON.stringify({
            ...{ type: 'PRODUCT_BUY', proof: { order: index }, burnAmount: 0.000001, persistOnchain: false },
          }),
        }
      : {}),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${kind}: ${statusCode} ${text}`);
}

/** Appends to a file of the disk that the server writes to, one small piece after the other. */
async function measureSyncs(file: FileHandle, seconds: number): Promise<Latencies> {
  const piece = Buffer.alloc(SYNC_BYTES, 1);
  const times: number[] = [];
  let last = Promise.resolve();
  await openLoop(
    seconds,
    () => MS / SYNCS_A_SECOND,
    () => {
      last = last.then(async () => {
        await file.write(piece);
        const startMs = performance.now();
        await file.datasync();
        times.push(performance.now() - startMs);
      });
      return last;
    },
  );
  return latencies(times);
}

async function measureRun(
  { url }: { readonly url: string },
  keys: readonly string[],
  file: FileHandle,
  { seconds, seed }: { readonly seconds: number; readonly seed: number },
): Promise<Run> {
  const agent = new Agent({ connections: CONNECTIONS });
  const random = randomNumbers(seed);
  const times: Record<Kind, number[]> = { burn: [], current: [], list: [] };
  const [sync] = await Promise.all([
    measureSyncs(file, seconds),
    openLoop(
      seconds,
      () => (-Math.log(1 - random()) * MS) / A_SECOND,
      async (index, dueMs) => {
        const kind = MIX[index % MIX.length] as Kind;
        await askOnce(agent, url, keys[Math.floor(random() * keys.length)] as string, kind, index);
        times[kind].push(performance.now() - dueMs);
      },
    ),
  ]);
  await agent.close();
  return { burn: latencies(times.burn), current: latencies(times.current), sync };
}

async function makeKeys(home: ServedHome): Promise<readonly string[]> {
  const keys = [home.key];
  while (keys.length < KEYS) {
    const { stdout } = await flywheel(
      { home: home.home, env: { FLYWHEEL_DATA_DIR: home.dataDir } },
      'keys',
      'create',
      '--json',
    );
    keys.push((JSON.parse(stdout) as { key: string }).key);
  }
  return keys;
}

/** A server that does nothing: what it takes all the same is the machine's, and that of who asks. */
async function serveNothing(): Promise<{ readonly url: string; readonly end: () => void }> {
  const child = spawn(process.execPath, [resolve('test/bench/floor/server.cjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { ...(JSON.parse(String(line)) as { url: string }), end: () => child.stdin.end() };
}

const worst = (values: readonly number[]): number => Math.max(...values);

export async function benchMixed(): Promise<BenchRatio[]> {
  const home = await initHome();
  const keys = await makeKeys(home);
  const file = await open(join(home.dataDir, 'yardstick'), 'w');
  // Keys are drawn at random, and one may have a burst that its usual rate refuses.
  const server = await serve(
    home,
    ...['burn', 'current', 'burns'].flatMap((word) => ['--rate', `${word}=1000/s`]),
  );
  const nothing = await serveNothing();
  try {
    await measureRun(nothing, keys, file, { seconds: 1, seed: 0 });
    await measureRun(server, keys, file, { seconds: WARM_UP_SECONDS, seed: 0 });
    const runs: Run[] = [];
    const floors: Run[] = [];
    for (let seed = 1; seed <= RUNS; seed += 1) {
      runs.push(await measureRun(server, keys, file, { seconds: SECONDS, seed }));
      floors.push(await measureRun(nothing, keys, file, { seconds: FLOOR_SECONDS, seed }));
    }
    const of = (value: (run: Run) => number): number => worst(runs.map(value));
    const load = `${A_SECOND} mixed requests a second of ${KEYS} keys`;
    const leastMs = worst(floors.map(({ current }) => current.p99)).toFixed(1);
    return [
      {
        name: `GET current at ${load}, 99 of 100 within, worst of ${RUNS} (of a server that does nothing: ${leastMs} ms)`,
        ratio: of(({ current }) => current.p99),
        target: 30,
        unit: 'ms',
      },
      {
        name: `POST burn at ${load}, p99 : p50, by that of fdatasync, worst of ${RUNS}`,
        ratio: of(({ burn, sync }) => burn.p99 / burn.p50 / (sync.p99 / sync.p50)),
        target: 2,
      },
    ];
  } finally {
    nothing.end();
    await server.end('SIGTERM');
    await file.close();
    await rm(home.home, { recursive: true, force: true });
  }
}
