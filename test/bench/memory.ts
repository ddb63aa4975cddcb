/** Measures the service's memory before and after a hundred thousand requests. */
import { createRequire } from 'node:module';
import type { BenchRatio } from './ratio.js';
import { openServed } from './work.js';

const REQUESTS = 100_000;
const WARM_UP = 20_000;

type Load = (
  options: Readonly<Record<string, unknown>>,
) => Promise<{ readonly non2xx: number; readonly errors: number }>;

export async function benchMemory(): Promise<BenchRatio[]> {
  const { url, headers, close } = await openServed();
  const autocannon = createRequire(import.meta.url)('autocannon') as Load;
  const ask = async (amount: number): Promise<void> => {
    const { errors, non2xx } = await autocannon({
      ...{ url: `${url}/v1/flywheel/batch/current`, headers, amount, connections: 50, workers: 1 },
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
    await close();
  }
}
