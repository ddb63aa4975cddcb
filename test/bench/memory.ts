/** Measures the service's memory during a hundred thousand requests. */
import { request } from 'undici';
import type { BenchRatio } from './ratio.js';
import { openServed } from './work.js';

const REQUESTS = 50_000;
const WARM_UP = 20_000;
const SAMPLES = 10;
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
  const peakOf = async (): Promise<number> => {
    let peak = 0;
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      await ask(REQUESTS / SAMPLES);
      peak = Math.max(peak, process.memoryUsage().rss);
    }
    return peak;
  };
  try {
    await ask(WARM_UP);
    const before = await peakOf();
    const ratio = (await peakOf()) / before;
    return [{ name: `peak memory of ${REQUESTS} requests : of as many before`, ratio, target: 1.2 }];
  } finally {
    await close();
  }
}
