import { defineConfig } from 'vitest/config';
import { keepScratchTogether } from './support/scratch.js';

keepScratchTogether();

/** One project a kind of test; nothing is retried. */
const project = (name: string, include: readonly string[], timeoutMs: number, isolate = true) => ({
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
    reporters: ['default', new URL('./support/summary-reporter.ts', import.meta.url).pathname],
    projects: [
      // Nothing is mocked here, and to load everything anew for each file would take as long as all of the tests.
      project(
        'unit',
        ['unit/*.test.ts', 'unit/!(rpc-node)/**/*.test.ts', 'architecture/*.test.ts'],
        60_000,
        false,
      ),
      // Other people's clients meet here what a process is like that has not loaded ours: undici changes its `fetch`.
      project('rpc-node', ['unit/rpc-node/*.test.ts'], 60_000),
      project('attacks', ['attacks/**/*.test.ts'], 60_000, false),
      project('abuse', ['abuse/**/*.test.ts'], 60_000, false),
      project('contract', ['contract/**/*.test.ts'], 60_000, false),
      project('conformance', ['conformance/**/*.test.ts'], 120_000),
      project('simulation', ['simulation/**/*.test.ts'], 300_000),
      project('e2e', ['e2e/**/*.test.ts'], 300_000),
    ],
  },
});
