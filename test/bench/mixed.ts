/**
 * Measures the built server as a process under mixed load: 150 requests a second of 50 keys, seven reads to three burns. Arrivals
 * are random and independent of answers; waiting starts at a request's due time.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { Random } from '../fuzz/random.js';
import { besides } from '../support/flywheel-here.js';
import { initHome, type ServedHome, serve } from '../support/http-serve.js';
import { type BenchRatio, p99 } from './ratio.js';
import { burnOf } from './work.js';

const KEYS = 50;
const A_SECOND = 150;
const WARM_UP_SECONDS = 5;
const SECONDS = 20;
const RUNS = 3;
/** More than are ever open at once, so that no request waits for a connection here. */
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

async function askOnce(agent: Agent, url: string, key: string, kind: Kind, index: number): Promise<void> {
  const isBurn = kind === 'burn';
  const { statusCode, body } = await request(url + PATHS[kind], {
    method: isBurn ? 'POST' : 'GET',
    dispatcher: agent,
    headers: {
      'x-service-api-key': key,
      ...(isBurn ? { 'x-idempotency-key': randomUUID(), 'content-type': 'application/json' } : {}),
    },
    body: isBurn ? JSON.stringify(burnOf(index)) : null,
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${kind}: ${statusCode} ${text}`);
}

/** @returns the 99th percentile of reads of the current batch, in ms. */
async function p99Of(url: string, keys: readonly string[], seconds: number, seed: number): Promise<number> {
  const agent = new Agent({ connections: CONNECTIONS });
  const random = new Random(seed);
  const gapMs = (): number => (-Math.log(1 - random.bits() / 2 ** 32) * MS) / A_SECOND;
  const times: number[] = [];
  const startMs = performance.now();
  const asked: Promise<void>[] = [];
  for (let dueMs = startMs + gapMs(); dueMs < startMs + seconds * MS; dueMs += gapMs()) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await setTimeout(waitMs);
    const kind = MIX[asked.length % MIX.length] as Kind;
    const key = random.pick(keys);
    const answered = askOnce(agent, url, key, kind, asked.length);
    asked.push(answered.then(() => void (kind === 'current' && times.push(performance.now() - dueMs))));
  }
  await Promise.all(asked);
  await agent.close();
  return p99(times);
}

async function makeKeys(home: ServedHome): Promise<readonly string[]> {
  const keys = [home.key];
  while (keys.length < KEYS) {
    const { stdout } = await besides(home, 'keys', 'create', '--json');
    keys.push((JSON.parse(stdout) as { key: string }).key);
  }
  return keys;
}

export async function benchMixed(): Promise<BenchRatio[]> {
  const home = await initHome();
  const keys = await makeKeys(home);
  // Keys are drawn at random, so one may exceed its usual rate in a burst.
  const server = await serve(
    home,
    ...['burn', 'current', 'burns'].flatMap((word) => ['--rate', `${word}=1000/s`]),
  );
  try {
    await p99Of(server.url, keys, WARM_UP_SECONDS, 0);
    const runs: number[] = [];
    for (let seed = 1; seed <= RUNS; seed += 1) runs.push(await p99Of(server.url, keys, SECONDS, seed));
    const name = `GET current at ${A_SECOND} mixed requests a second of ${KEYS} keys, 99 of 100 within, worst of ${RUNS}`;
    return [{ name, ratio: Math.max(...runs), target: 30, unit: 'ms' }];
  } finally {
    await server.end('SIGTERM');
    await rm(home.home, { recursive: true, force: true });
  }
}
