/** Measures the bytes that one burn adds to the files of a data directory, with indexes. */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { dataFiles } from '../../src/compose/local-config.js';
import { openTestEngine, type TestEngine } from '../support/engine.js';
import type { BenchRatio } from './ratio.js';
import { burnOf, onDatabase } from './work.js';

const BURNS = 1_000;

/** Starts with as many uncounted burns, so that no table is small. */
export async function benchDisk(): Promise<BenchRatio[]> {
  const opened = await openTestEngine();
  const { engine, project } = opened;
  const burn = async (from: number): Promise<void> => {
    for (let index = from; index < from + BURNS; index += 1) {
      const { value } = await engine.burn(burnOf(index), project.call({ idempotencyKey: randomUUID() }));
      if (value.result !== 'SUCCESS') throw new Error('A burn of the measurement failed.');
    }
  };
  try {
    await burn(0);
    const before = bytesOf(opened);
    await burn(BURNS);
    const ratio = (bytesOf(opened) - before) / BURNS;
    // Includes the stored answer and its key, which expire later.
    return [{ name: 'bytes on disk a burn', ratio, target: 2_750, unit: 'B' }];
  } finally {
    await opened.destroy();
  }
}

/** Both files, after their WALs are checkpointed. */
function bytesOf({ dataDir }: TestEngine): number {
  const { store, ledger } = dataFiles(dataDir);
  const sizes = [store, ledger].map((path) => {
    onDatabase(path, (database) => database.exec('pragma wal_checkpoint(truncate)'));
    return statSync(path).size;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}
