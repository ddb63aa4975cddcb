/** Measures the service's memory before and after a hundred thousand requests. */
import { createRequire } from 'node:module';
import { createLog } from '../../src/http/log.js';
import { openTestEngine } from '../support/engine.js';
import { startServer } from '../support/http.js';
import type { BenchRatio } from './ratio.js';

const REQUESTS = 100_000;
const WARM_UP = 20_000;

type Load = (
  options: Readonly<Record<string, unknown>>,
) => Promise<{ readonly non2xx: number; readonly errors: number }>;

export async function benchMemory(): Promise<BenchRatio[]> {
  const opened = await openTestEngine();
  const log = createLog({ level: 'info', stream: { write: () => undefined } });
  const server = await startServer({ engine: opened.engine, log });
  const autocannon = createRequire(import.meta.url)('autocannon') as Load;
  const ask = async (amount: number): Promise<void> => {
    const { errors, non2xx } = await autocannon({
      ...{ url: `${server.url}/v1/flywheel/batch/current`, amount, connections: 50, workers: 1 },
      headers: { 'x-service-api-key': opened.project.key.reveal() },
    });
    if (errors > 0 || non2xx > 0) throw new Error('An answer of the measurement failed.');
  };
  try {
    await ask(WARM_UP);
    const before = process.memoryUsage().rss;
    await ask(REQUESTS);
    const ratio = process.memoryUsage().rss / before;
    return [{ name: `memory after ${REQUESTS} requests : before`, ratio, target: 1.2 }];
  } finally {
    await server.closeGracefully(5_000);
    await opened.destroy();
  }
}
