import { defineConfig } from 'vitest/config';
import { keepScratchTogether } from './support/scratch.js';

keepScratchTogether();

interface Kind {
  readonly include: readonly string[];
  readonly timeoutMs?: number;
  /** Loads everything anew for each file. */
  readonly isolate?: boolean;
  /** Its files have databases on one PostgreSQL, which runs as long as the tests do. */
  readonly hasPostgres?: boolean;
}

/** One project a kind of test; nothing is retried. */
const project = (
  name: string,
  { include, timeoutMs = 60_000, isolate = true, hasPostgres = false }: Kind,
) => ({
  test: {
    name,
    isolate,
    include: include.map((glob) => `test/${glob}`),
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    retry: 0,
    pool: 'forks' as const,
    ...(hasPostgres ? { globalSetup: ['test/support/postgres-for-run.ts'] } : {}),
  },
});

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    allowOnly: false,
    // Most of the time is waited for processes; more at a time would want more memory than small machines have.
    maxWorkers: 2,
    reporters: ['default', new URL('./support/summary-reporter.ts', import.meta.url).pathname],
    projects: [
      // Tier 1 (`npm test`): no PostgreSQL, no cluster. Nothing is mocked, and to load everything anew for each file would take as
      // long as all of the tests.
      project('unit', {
        include: ['unit/*.test.ts', 'unit/!(rpc-node)/**/*.test.ts', 'architecture/*.test.ts'],
        isolate: false,
      }),
      project('contract', { include: ['contract/**/*.test.ts'], isolate: false }),
      project('specification', { include: ['specification/**/*.test.ts'], isolate: false }),
      // Tier 2 (`npm run ci`): all of them.
      project('core', { include: ['core/**/*.test.ts'], isolate: false, hasPostgres: true }),
      // Other people's clients meet here what a process is like that has not loaded ours: undici changes its `fetch`.
      project('rpc-node', { include: ['unit/rpc-node/*.test.ts'] }),
      project('attacks', { include: ['attacks/**/*.test.ts'], isolate: false }),
      project('abuse', { include: ['abuse/**/*.test.ts'], hasPostgres: true }),
      project('conformance', { include: ['conformance/**/*.test.ts'], timeoutMs: 120_000 }),
      project('simulation', { include: ['simulation/**/*.test.ts'], timeoutMs: 300_000 }),
      project('e2e', { include: ['e2e/**/*.test.ts'], timeoutMs: 300_000, hasPostgres: true }),
    ],
  },
});
