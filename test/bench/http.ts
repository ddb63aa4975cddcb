/** The service over a socket of loopback beside the same framework with an empty handler, and beside the engine itself. */
import { createRequire } from 'node:module';
import fastify from 'fastify';
import { homeFiles } from '../../src/compose/home.js';
import { openRateCounts } from '../../src/compose/rate-counts.js';
import { openStoreVersion } from '../../src/compose/store-version.js';
import { createRateLimiter } from '../../src/http/rate-limiter.js';
import { rememberReads } from '../../src/http/remembered-reads.js';
import { systemClock } from '../../src/values/time.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import { type RunningServer, startServer } from '../support/http.js';
import { type BenchRatio, median } from './ratio.js';

const CONNECTIONS = 50;
const SECONDS_A_ROUND = 2;
const ROUNDS = 5;
const MEMORY_REQUESTS = 100_000;
const MEMORY_WARM_UP = 20_000;

const BURN = { type: 'PRODUCT_BUY', proof: { order: 'A-1' }, burnAmount: 0.000001, persistOnchain: false };

interface LoadResult {
  readonly requests: { readonly average: number };
  readonly latency: { readonly p99: number };
  readonly non2xx: number;
  readonly errors: number;
}

type Load = (options: Readonly<Record<string, unknown>>) => Promise<LoadResult>;

interface Target {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** In a worker of its own, so that it does not compete with the server for one core. */
async function load(target: Target, amount?: number): Promise<LoadResult> {
  const autocannon = createRequire(import.meta.url)('autocannon') as Load;
  const bound = amount === undefined ? { duration: SECONDS_A_ROUND } : { amount };
  const result = await autocannon({ ...target, ...bound, connections: CONNECTIONS, workers: 1 });
  if (result.errors > 0 || result.non2xx > 0)
    throw new Error(`${target.url}: an answer of the measurement failed.`);
  return result;
}

async function openEmpty(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const app = fastify();
  app.get('/empty', async () => null);
  app.post('/empty', async () => null);
  return { url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/empty`, close: () => app.close() };
}

/** Burns in this process, as many at once as there are connections. */
async function engineBurnsPerSecond({ engine, project }: TestEngine): Promise<number> {
  const start = performance.now();
  let burned = 0;
  const one = async (): Promise<void> => {
    while (performance.now() - start < SECONDS_A_ROUND * 1_000) {
      await engine.burn(BURN, project.call());
      burned += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  return burned / ((performance.now() - start) / 1_000);
}

interface Rates {
  readonly empty: number[];
  readonly emptyPost: number[];
  readonly current: number[];
  readonly burn: number[];
  readonly engine: number[];
  readonly currentP99Ms: number[];
  readonly burnP99Ms: number[];
}

/** Rounds in turn, so that whatever else the machine does disturbs all alike. */
async function measure(opened: TestEngine, server: RunningServer, emptyUrl: string): Promise<Rates> {
  const headers = { 'x-service-api-key': opened.project.key.reveal(), 'content-type': 'application/json' };
  const current = { url: `${server.url}/v1/flywheel/batch/current`, method: 'GET', headers } as const;
  const post = { method: 'POST', headers, body: JSON.stringify(BURN) } as const;
  const rates: Rates = {
    empty: [],
    emptyPost: [],
    current: [],
    burn: [],
    engine: [],
    currentP99Ms: [],
    burnP99Ms: [],
  };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const empty = await load({ ...current, url: emptyUrl });
    const status = await load(current);
    const emptyPost = await load({ ...post, url: emptyUrl });
    const burn = await load({ ...post, url: `${server.url}/v1/tokenomics/burn` });
    const engine = await engineBurnsPerSecond(opened);
    // The first round warms up.
    if (round === 0) continue;
    rates.empty.push(empty.requests.average);
    rates.current.push(status.requests.average);
    rates.emptyPost.push(emptyPost.requests.average);
    rates.burn.push(burn.requests.average);
    rates.engine.push(engine);
    rates.currentP99Ms.push(status.latency.p99);
    rates.burnP99Ms.push(burn.latency.p99);
  }
  return rates;
}

async function memoryRatio(opened: TestEngine, server: RunningServer): Promise<number> {
  const headers = { 'x-service-api-key': opened.project.key.reveal() };
  const target = { url: `${server.url}/v1/flywheel/batch/current`, method: 'GET', headers } as const;
  await load(target, MEMORY_WARM_UP);
  const before = process.memoryUsage().rss;
  await load(target, MEMORY_REQUESTS);
  return process.memoryUsage().rss / before;
}

/** Status and burns over HTTP, with the rate limits counting but too wide to refuse. */
export async function benchHttp(): Promise<BenchRatio[]> {
  const opened = await openTestEngine();
  const counts = await openRateCounts(homeFiles(opened.dataDir).rateCounts);
  const store = await openStoreVersion(homeFiles(opened.dataDir).store);
  const server = await startServer({
    ...rememberReads({
      service: opened.engine,
      authenticate: (credential) => opened.engine.authenticate(credential),
      version: () => store.version(),
    }),
    rateLimiter: createRateLimiter({ clock: systemClock, counts }),
    log: { level: 'info', stream: { write: () => undefined } },
  });
  const empty = await openEmpty();
  try {
    const rates = await measure(opened, server, empty.url);
    const [current, burn] = [median(rates.current), median(rates.burn)];
    const memory = await memoryRatio(opened, server);
    return [
      {
        name: 'GET current : empty handler, requests a second',
        ratio: current / median(rates.empty),
        target: 0.5,
        atLeast: true,
      },
      {
        name: 'POST burn : engine in process, burns a second',
        ratio: burn / median(rates.engine),
        target: 0.5,
        atLeast: true,
      },
      {
        name: 'POST burn : empty handler, requests a second',
        ratio: burn / median(rates.emptyPost),
        target: 0,
        atLeast: true,
      },
      { name: 'GET current, 99 of 100 within', ratio: median(rates.currentP99Ms), target: 100, unit: 'ms' },
      { name: 'POST burn, 99 of 100 within', ratio: median(rates.burnP99Ms), target: 1_000, unit: 'ms' },
      { name: `memory after ${MEMORY_REQUESTS} requests : before`, ratio: memory, target: 1.2 },
    ];
  } finally {
    await empty.close();
    await server.closeGracefully(5_000);
    counts.close();
    store.close();
    await opened.destroy();
  }
}
