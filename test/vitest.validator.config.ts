import { defineConfig } from 'vitest/config';

/** What needs a validator that somebody runs, named by VALIDATOR_URL; nothing is retried, and without it all fails. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    allowOnly: false,
    maxWorkers: 2,
    retry: 0,
    pool: 'forks',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    include: ['test/validator/**/*.test.ts'],
    reporters: ['default', new URL('./support/summary-reporter.ts', import.meta.url).pathname],
  },
});
