/** `flywheel serve` whose store breaks while it runs: every answer is 503, nothing leaks, and the log names the cause. */
import { randomUUID } from 'node:crypto';
import { existsSync, openSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { ask, copyHome, initHome, killServers, type ServedHome, serve } from '../support/http-serve.js';
import { sampleOf } from '../support/long.js';

const BURN = { type: 'PRODUCT_BUY', proof: { order: 'A-1' }, burnAmount: 1, persistOnchain: false };
const PIPELINES = {
  pipelines: [{ type: 'WATCH_AD', payload: '{}', actions: [{ action: 'BURN', amount: 1 }] }],
};
const PAGE_BYTES = 4_096;

/** Does this to a file and its log. */
function each(path: string, act: (file: string) => void): void {
  for (const file of [path, `${path}-wal`].filter((one) => existsSync(one))) act(file);
}

const overwrite = (path: string): void => {
  const file = openSync(path, 'r+');
  for (let at = PAGE_BYTES; at < statSync(path).size; at += PAGE_BYTES)
    writeSync(file, Buffer.alloc(PAGE_BYTES, 7), 0, PAGE_BYTES, at);
  truncateSync(`${path}-wal`, 0);
};
const NO_DATABASE = 'this is no database, and long enough'.repeat(2_000);
const DAMAGED = /store\.db (?:is damaged|could not be read or written|is not a database)/;
const DAMAGES: readonly (readonly [string, (path: string) => void])[] = [
  ['is not a database', (path) => each(path, (file) => writeFileSync(file, NO_DATABASE))],
  ['has lost its pages', overwrite],
  ['has been emptied', (path) => each(path, (file) => truncateSync(file, 0))],
];

describe('flywheel serve', () => {
  let template: ServedHome;
  beforeAll(async () => {
    template = await initHome();
  });
  afterEach(killServers);

  it.each(sampleOf(DAMAGES, 1))('answers 503 when its store %s', async (_name, damage) => {
    const home = copyHome(template);
    const server = await serve(home);
    const answers = async () => {
      const burn = { body: BURN, idempotencyKey: randomUUID() };
      const asked = [
        ask(`${server.url}/v1/tokenomics/burn`, home.key, burn),
        ask(`${server.url}/v1/tokenomics/burn-batch`, home.key, { ...burn, body: [BURN] }),
        ask(`${server.url}/v1/flywheel/batch/init`, home.key, { body: PIPELINES }),
        ask(`${server.url}/v1/flywheel/batch/current`, home.key),
        ask(`${server.url}/v1/flywheel/batch/${randomUUID()}`, home.key),
        fetch(`${server.url}/readyz`),
        fetch(`${server.url}/healthz`),
      ];
      return Promise.all(
        asked.map(async (answer) => {
          const response = await answer;
          return [response.status, response.headers.get('retry-after'), await response.text()] as const;
        }),
      );
    };
    expect((await answers()).map(([status]) => status)).toEqual([200, 200, 200, 200, 404, 200, 200]);
    damage(join(home.dataDir, 'store.db'));
    const broken = await answers();
    expect(broken.map(([status, retryAfter]) => [status, retryAfter])).toEqual([
      ...Array.from({ length: 6 }, () => [503, '1']),
      [200, null],
    ]);
    for (const [, , text] of broken) expect(text).not.toContain(home.dataDir);
    expect(server.log()).toMatch(DAMAGED);
    expect(server.log()).toContain('"code":"ERR_STORE_UNAVAILABLE"');
  });
});
