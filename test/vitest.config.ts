import { defineConfig } from 'vitest/config';
import { keepScratchTogether } from './support/scratch.js';

keepScratchTogether();

interface Kind {
  readonly include: readonly string[];
  readonly timeoutMs?: number;
  /** Loads everything anew for each file. */
  readonly isolate?: boolean;
}

/** One project for files that run alike; nothing is retried. */
const project = (name: string, { include, timeoutMs = 60_000, isolate = true }: Kind) => ({
  test: {
    name,
    isolate,
    include: include.map((glob) => `test/${glob}`),
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    retry: 0,
    pool: 'forks' as const,
  },
});

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    allowOnly: false,
    // Most of the time is waited for processes; more at a time would want more memory than small machines have.
    maxWorkers: 2,
    globalSetup: [new URL('./support/postgres-for-run.ts', import.meta.url).pathname],
    reporters: ['default', new URL('./support/summary-reporter.ts', import.meta.url).pathname],
    projects: [
      // Tier 1, `npm test`: no PostgreSQL and no cluster. One project, because each project compiles the sources again; not
      // isolated, because loading them anew for each file takes as long as the tests. Nothing is mocked.
      project('quick', {
        include: [
          'unit/*.test.ts',
          'unit/!(rpc-node)/**/*.test.ts',
          ...['attacks', 'contract', 'specification', 'architecture'].map(
            (folder) => `${folder}/**/*.test.ts`,
          ),
        ],
        isolate: false,
      }),
      // Tier 2, `npm run test:all`: tier 1 and all below.
      project('core', { include: ['core/**/*.test.ts'], isolate: false }),
      // Other people's clients meet here what a process is like that has not loaded ours: undici changes its `fetch`.
      project('rpc-node', { include: ['unit/rpc-node/*.test.ts'] }),
      project('abuse', { include: ['abuse/**/*.test.ts'], isolate: false }),
      project('conformance', { include: ['conformance/**/*.test.ts'], timeoutMs: 120_000 }),
      project('simulation', { include: ['simulation/**/*.test.ts'], timeoutMs: 300_000 }),
      project('e2e', { include: ['e2e/**/*.test.ts'], timeoutMs: 300_000, isolate: false }),
    ],
  },
});
