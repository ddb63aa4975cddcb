/** The service over a socket of loopback beside the same framework with an empty handler, and beside the engine itself. */
import { createRequire } from 'node:module';
import fastify from 'fastify';
import { createLog } from '../../src/http/log.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import { type RunningServer, startServer } from '../support/http.js';
import { type BenchRatio, median } from './ratio.js';

const CONNECTIONS = 50;
const SECONDS_A_ROUND = 2;
const ROUNDS = 4;
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

interface Round {
  readonly currentBesideEmpty: number;
  readonly burnBesideEngine: number;
  readonly currentP99Ms: number;
  readonly burnP99Ms: number;
}

/** What is compared is measured one after the other, so that whatever else the machine does disturbs both alike. */
async function measure(
  opened: TestEngine,
  server: RunningServer,
  emptyUrl: string,
): Promise<readonly Round[]> {
  const headers = { 'x-service-api-key': opened.project.key.reveal(), 'content-type': 'application/json' };
  const current = { url: `${server.url}/v1/flywheel/batch/current`, method: 'GET', headers } as const;
  const burn = {
    url: `${server.url}/v1/tokenomics/burn`,
    method: 'POST',
    headers,
    body: JSON.stringify(BURN),
  } as const;
  const rounds: Round[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const emptyLoad = await load({ ...current, url: emptyUrl });
    const currentLoad = await load(current);
    const burnLoad = await load(burn);
    const engine = await engineBurnsPerSecond(opened);
    rounds.push({
      currentBesideEmpty: currentLoad.requests.average / emptyLoad.requests.average,
      burnBesideEngine: burnLoad.requests.average / engine,
      currentP99Ms: currentLoad.latency.p99,
      burnP99Ms: burnLoad.latency.p99,
    });
  }
  // The first round warms up.
  return rounds.slice(1);
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
  const server = await startServer({
    engine: opened.engine,
    log: createLog({ level: 'info', stream: { write: () => undefined } }),
  });
  const empty = await openEmpty();
  try {
    const rounds = await measure(opened, server, empty.url);
    const of = (field: keyof Round): number => median(rounds.map((round) => round[field]));
    const memory = await memoryRatio(opened, server);
    return [
      {
        name: 'GET current : empty handler, requests a second',
        ratio: of('currentBesideEmpty'),
        target: 0.5,
        atLeast: true,
      },
      {
        name: 'POST burn : engine in process, burns a second',
        ratio: of('burnBesideEngine'),
        target: 0.5,
        atLeast: true,
      },
      { name: 'GET current, 99 of 100 within', ratio: of('currentP99Ms'), target: 100, unit: 'ms' },
      { name: 'POST burn, 99 of 100 within', ratio: of('burnP99Ms'), target: 1_000, unit: 'ms' },
      { name: `memory after ${MEMORY_REQUESTS} requests : before`, ratio: memory, target: 1.2 },
    ];
  } finally {
    await empty.close();
    await server.closeGracefully(5_000);

    await opened.destroy();
  }
}
