/** Work that several measurements do alike. */
import Database from 'libsql';
import type { Pipeline } from '../../src/contract/schemas/batch.js';
import { createLog } from '../../src/http/log.js';
import type { Address } from '../../src/values/address.js';
import { openTestEngine } from '../support/engine.js';
import { startServer } from '../support/http.js';

export const burnOf = (index: number) => ({
  ...{ type: 'PRODUCT_BUY', proof: { index }, burnAmount: 0.000001, persistOnchain: false },
});

/** A burn and an airdrop to an owner of a token account; `name` makes the proofs distinct. */
export const pipelinesOf = (count: number, owner: string, name: string): Pipeline[] =>
  Array.from({ length: count }, (_, index) => ({
    type: 'WATCH_AD',
    payload: JSON.stringify({ index, name }),
    actions: [
      { action: 'BURN' as const, amount: 2 },
      { action: 'AIRDROP' as const, toAddress: owner as Address, amount: 0.5 },
    ],
  }));

export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function onDatabase<Found>(path: string, work: (database: Database.Database) => Found): Found {
  const database = new Database(path);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** A service with a log, as `serve` has it. */
export async function openServed(deps: Parameters<typeof openTestEngine>[1] = {}) {
  const { engine, project, destroy } = await openTestEngine({}, deps);
  const log = createLog({ level: 'info', stream: { write: () => undefined } });
  const { url, port, closeGracefully } = await startServer({ engine, log });
  return {
    ...{ url, port, headers: { 'x-service-api-key': project.key.reveal() } },
    close: async () => {
      await closeGracefully(5_000);
      await destroy();
    },
  };
}
