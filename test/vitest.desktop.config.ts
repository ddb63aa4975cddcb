import { defineConfig } from 'vitest/config';

/** Tests that need a browser or a shell that some machines lack; no retries, and a missing program fails. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    allowOnly: false,
    maxWorkers: 2,
    retry: 0,
    pool: 'forks',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    include: ['test/desktop/**/*.test.ts'],
    reporters: ['default', new URL('./support/summary-reporter.ts', import.meta.url).pathname],
  },
});
