/** The journal cannot be written after the operation landed: the outcome is printed, and nothing is done twice. */

import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EXAMPLES, exampleReply, fakeService, GOOD_KEY } from '../support/fake-service.js';
import { faultEnvironment, LEASE_MS } from '../support/faults.js';
import { type RunningServer, startServer } from '../support/http.js';
import { emptyDirectory, flywheel, problemOf } from '../support/spawn.js';

const BURN = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"order":"A-1"}', '--amount', '12.5', '--json'];

function journalIn(home: string): string {
  const found = readdirSync(home, { recursive: true, encoding: 'utf8' }).find((path) =>
    path.endsWith('journal.db'),
  );
  if (found === undefined) throw new Error('There is no journal.');
  return join(home, found);
}

/** Puts an empty file in the place of the journal. @returns a function that puts the journal back */
function takeAway(journal: string): () => void {
  const aside = `${journal}-aside`;
  renameSync(journal, aside);
  writeFileSync(journal, '');
  return () => renameSync(aside, journal);
}

describe('an operation whose journal cannot be written once it has landed', () => {
  const servers: RunningServer[] = [];
  afterAll(async () => {
    for (const server of servers) await server.closeGracefully(1_000);
  });

  /** Takes the journal away once the service has executed the command, then runs the same command again. */
  async function twice(operation: 'burn' | 'burnBatch', words: (home: string) => readonly string[]) {
    const home = emptyDirectory();
    let putBack: (() => void) | undefined;
    const fake = fakeService();
    fake.answer(operation, () => {
      putBack ??= takeAway(journalIn(home));
      return exampleReply(operation);
    });
    const server = await startServer({ service: fake.service });
    servers.push(server);
    const env = { FLYWHEEL_API_URL: server.url, FLYWHEEL_API_KEY: GOOD_KEY };
    const broken = await flywheel({ home, env }, ...words(home));
    putBack?.();
    // What could not be freed either is free when its lease has ended.
    const later = { ...env, ...faultEnvironment({ clockAheadMs: LEASE_MS }, home) };
    const again = await flywheel({ home, env: later }, ...words(home));
    expect(new Set(fake.calls.flatMap(({ call }) => call.idempotencyKey ?? [])).size).toBe(1);
    const pending = await flywheel({ home, env }, 'pending', '--json');
    expect([pending.exit, pending.stdout]).toEqual([0, '[]\n']);
    return { broken, again };
  }

  it('is printed, with a sentence on what was not noted, and the same command burns no second time', async () => {
    const { broken, again } = await twice('burn', () => BURN);
    const outcome = `${JSON.stringify(EXAMPLES.burn.response)}\n`;
    expect([broken.exit, broken.stdout]).toEqual([1, outcome]);
    expect(problemOf(broken)).toMatchObject({
      error: 'ERR_OUTPUT_FAILED',
      message: expect.stringMatching(/journal/),
    });
    expect([again.exit, again.stdout]).toEqual([0, outcome]);
  });

  it('is unknown where it could not be kept before it was printed, with a line that tells it', async () => {
    const { broken, again } = await twice('burnBatch', (home) => {
      const file = join(home, 'burns.json');
      writeFileSync(file, JSON.stringify(EXAMPLES.burnBatch.request));
      return ['burn-batch', file, '--json'];
    });
    expect([broken.exit, broken.stdout]).toEqual([7, '']);
    expect(problemOf(broken)).toMatchObject({
      error: 'ERR_OUTCOME_UNKNOWN',
      message: expect.stringMatching(/journal/),
      hint: expect.stringContaining('Resume it: flywheel pending resume'),
    });
    expect(again.stdout).toBe(`${JSON.stringify(EXAMPLES.burnBatch.response)}\n`);
  });
});
