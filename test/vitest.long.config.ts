import { defineConfig } from 'vitest/config';

/** What belongs to `npm run ci:long`: it needs the registry, a validator or the real Squads program. What is missing fails. */
const project = (name: string, include: readonly string[], timeoutMs: number) => ({
  test: {
    name,
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
    maxWorkers: 2,
    globalSetup: [new URL('./support/postgres-for-run.ts', import.meta.url).pathname],
    reporters: ['default', new URL('./support/summary-reporter.ts', import.meta.url).pathname],
    projects: [
      // Every suite with every node, and the packed program installed with each.
      project('nodes', ['nodes/**/*.test.ts'], 3_600_000),
      // Servers in threes, what moves between databases, the whole specification on a cluster: minutes each.
      project('programs', ['long/programs/**/*.test.ts'], 600_000),
      // On a validator that VALIDATOR_URL names.
      project('validator', ['validator/**/*.test.ts'], 120_000),
      // On the real program that SQUADS_PROGRAM names.
      project('squads', ['conformance/squads*.test.ts', 'long/real-squads.test.ts'], 120_000),
    ],
  },
});
