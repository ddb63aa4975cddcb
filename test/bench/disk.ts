/** How much larger the two files of a data directory are for a burn, with the indexes that history needs. */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dataFiles } from '../../src/compose/local-config.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import type { BenchRatio } from './ratio.js';

const PER_REQUEST = 1_000;
const IN_REQUESTS = 10_000;
const SINGLE = 1_000;

/** Each begins with as many burns that are not counted, so that no table is small. */
export async function benchDisk(): Promise<BenchRatio[]> {
  const inRequests = await bytesOfBurn(IN_REQUESTS, async (opened, from) => {
    for (let at = from; at < from + IN_REQUESTS; at += PER_REQUEST) await burnThousand(opened, at);
  });
  const single = await bytesOfBurn(SINGLE, async ({ engine, project }, from) => {
    for (let at = from; at < from + SINGLE; at += 1) {
      const { value } = await engine.burn(element(at), project.call({ idempotencyKey: randomUUID() }));
      if (value.result !== 'SUCCESS') throw new Error('A burn of the measurement failed.');
    }
  });
  return [
    {
      name: `bytes on disk a burn, in requests of ${PER_REQUEST}`,
      ratio: inRequests,
      target: 2_500,
      unit: 'B',
    },
    // The answer and its key besides, until they are forgotten.
    { name: 'bytes on disk a burn with a request of its own', ratio: single, target: 2_500, unit: 'B' },
  ];
}

async function bytesOfBurn(
  count: number,
  burn: (opened: TestEngine, from: number) => Promise<void>,
): Promise<number> {
  const opened = await openTestEngine();
  try {
    await burn(opened, 0);
    const before = bytesOf(opened);
    await burn(opened, count);
    return (bytesOf(opened) - before) / count;
  } finally {
    await opened.destroy();
  }
}

const element = (index: number) => ({
  type: 'PRODUCT_BUY',
  proof: { index },
  burnAmount: 0.000001,
  persistOnchain: false,
});

async function burnThousand({ engine, project }: TestEngine, from: number): Promise<void> {
  const elements = Array.from({ length: PER_REQUEST }, (_, index) => element(from + index));
  const { value } = await engine.burnBatch(elements, project.call({ idempotencyKey: randomUUID() }));
  if (value.success.length !== PER_REQUEST) throw new Error('A burn of the measurement failed.');
}

/** Of both files, with all in them that was in their logs. */
function bytesOf({ dataDir }: TestEngine): number {
  const Database = createRequire(import.meta.url)('libsql') as new (
    path: string,
  ) => { exec(sql: string): void; close(): void };
  const { store, ledger } = dataFiles(dataDir);
  const sizes = [store, ledger].map((path) => {
    const database = new Database(path);
    database.exec('pragma wal_checkpoint(truncate)');
    database.close();
    return statSync(path).size;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}
