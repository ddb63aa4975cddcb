import { defineConfig } from 'vitest/config';

/** What needs the registry: other versions of node, and the packed program installed with each. Nothing is retried. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    allowOnly: false,
    maxWorkers: 2,
    retry: 0,
    pool: 'forks',
    testTimeout: 900_000,
    hookTimeout: 300_000,
    include: ['test/nodes/**/*.test.ts'],
    reporters: ['default', new URL('./support/summary-reporter.ts', import.meta.url).pathname],
  },
});
