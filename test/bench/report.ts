/** A report over a million burns, as a whole process; to write them takes half a minute, so that it runs only where it is asked for. */
import { createRequire } from 'node:module';
import { dataFiles } from '../../src/compose/local-config.js';
import type { TestEngine } from '../support/engine.js';
import { environment, openCommandLineEngine } from './burns.js';
import { runNode } from './processes.js';
import { type BenchRatio, median } from './ratio.js';

const BURNS = 1_000_000;
const RUNS = 5;
const REPORT = ['report', '--by', 'month,type', '--json'];

/** Seconds that the whole command takes. */
export async function benchReport(bin: string, env: NodeJS.ProcessEnv): Promise<BenchRatio[]> {
  const opened = await openCommandLineEngine();
  try {
    await fillWithSettledBurns(opened);
    const seconds: number[] = [];
    for (let run = 0; run <= RUNS; run += 1) {
      const { ms } = await runNode([bin, ...REPORT], environment(env, opened));
      // The first run only warms the file cache.
      if (run > 0) seconds.push(ms / 1_000);
    }
    return [{ name: `report over ${BURNS} burns`, ratio: median(seconds), target: 2, unit: 's' }];
  } finally {
    await opened.destroy();
  }
}

/** A burn a minute for nearly two years, of two types, of amounts whose sum is far beyond 64 bits; copies of a real one else. */
async function fillWithSettledBurns({ dataDir, engine, project, close }: TestEngine): Promise<void> {
  const proof = { order: 'A-1' };
  await engine.burn(
    { type: 'PRODUCT_BUY', proof, burnAmount: 1, persistOnchain: false },
    project.call({ idempotencyKey: crypto.randomUUID() }),
  );
  await close();
  const Database = createRequire(import.meta.url)('libsql') as new (
    path: string,
  ) => { exec(sql: string): void; close(): void };
  const store = new Database(dataFiles(dataDir).store);
  store.exec(`
    pragma synchronous = off;
    begin;
    create temp table one as select * from burns limit 1;
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${BURNS})
    insert into burns (sequence, request_id, "index", token_id, key_id, proof_type, proof_hash, amount, persist_onchain,
        day, status, signature, "transaction", last_valid_block_height, date_created)
      select one.sequence + i, 'earlier', i, one.token_id, one.key_id, iif(i % 3 = 0, 'WATCH_AD', one.proof_type),
        lower(hex(randomblob(32))), printf('%020d', 9000000000000000000 + i), 0, one.day, 'PENDING', hex(randomblob(44)),
        x'00', one.last_valid_block_height,
        strftime('%Y-%m-%dT%H:%M:%fZ', '2025-01-01', '+' || (i * 60) || ' seconds') from n, one;
    update burns set status = 'FINAL', date_settled = date_created, fee_lamports = '00000000000000005000', "transaction" = null where status = 'PENDING';
    update burn_numbers set last = last + ${BURNS};
    commit;`);
  store.close();
}
