/** Measures the service's memory before and after a hundred thousand requests. */
import { request } from 'undici';
import type { BenchRatio } from './ratio.js';
import { openServed } from './work.js';

const REQUESTS = 100_000;
const WARM_UP = 20_000;
const CLIENTS = 50;

export async function benchMemory(): Promise<BenchRatio[]> {
  const { url, headers, close } = await openServed();
  const ask = async (amount: number): Promise<void> => {
    let left = amount;
    const client = async (): Promise<void> => {
      while (left-- > 0) {
        const { statusCode, body } = await request(`${url}/v1/flywheel/batch/current`, { headers });
        await body.dump();
        if (statusCode !== 200) throw new Error('An answer of the measurement failed.');
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
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
