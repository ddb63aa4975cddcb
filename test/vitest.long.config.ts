import { defineConfig } from 'vitest/config';

/** Tests of `npm run ci:long` that need the registry, a validator or the real Squads program; a missing one fails. */
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
      // Every suite with every Node, and the packed program installed with each.
      project('nodes', ['nodes/**/*.test.ts'], 3_600_000),
      // Several servers, copies between databases, the whole specification on a cluster: minutes each.
      project('programs', ['long/programs/**/*.test.ts'], 600_000),
      // On the validator at VALIDATOR_URL.
      project('validator', ['validator/**/*.test.ts'], 120_000),
      // On the real program from SQUADS_PROGRAM.
      project('squads', ['conformance/squads*.test.ts', 'long/real-squads.test.ts'], 120_000),
    ],
  },
});
