import { defineConfig } from 'vitest/config';

/** What needs a browser or a shell that not every machine has; nothing is retried, and what is missing fails. */
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
