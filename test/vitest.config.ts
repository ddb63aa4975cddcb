import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { keepScratchTogether } from './support/scratch.js';

keepScratchTogether();

interface Kind {
  readonly include: readonly string[];
  readonly timeoutMs?: number;
}

/** Files in parallel on two cores: tier 1 alone only computes, the others wait for processes and slots too. */
const WORKERS = process.argv.includes('quick') ? 2 : 3;

const QUICK = [
  'unit/**/*.test.ts',
  ...['attacks', 'contract', 'specification', 'architecture'].map((folder) => `${folder}/**/*.test.ts`),
];

/** Projects with the same settings, which run in one go; no retries. */
const project = (name: string, { include, timeoutMs = 60_000 }: Kind) => ({
  test: {
    name,
    isolate: false,
    include: include.map((glob) => `test/${glob}`),
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
    retry: 0,
    pool: 'forks' as const,
    maxWorkers: WORKERS,
    // The collector took an eighth of the time.
    execArgv: ['--max-semi-space-size=64'],
  },
});

/** The longest files first, then the folders with many files, so that all workers stay busy to the end. */
const ORDER = ['simulation', 'e2e', 'core', 'abuse', 'conformance', 'rpc-node'];

/** They take long for their size, by which a first run sorts the files of a project. */
const SMALL_BUT_LONG =
  /\/(?:core\/(?:postgres|cluster)\/(?:core|store)|e2e\/(?:crash|database|faults|faulty-node|lying-proxy|two-files))\.test\.ts$/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = ORDER.findIndex((folder) => moduleId.includes(`/${folder}/`));
      return (at < 0 ? ORDER.length : at) - (SMALL_BUT_LONG.test(moduleId) ? ORDER.length : 0);
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    allowOnly: false,
    // Caches compiled sources, which each project and run would compile again.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    globalSetup: [new URL('./support/postgres-for-run.ts', import.meta.url).pathname],
    reporters: ['default', new URL('./support/summary-reporter.ts', import.meta.url).pathname],
    // Few projects, because each compiles the sources again; not isolated, because reloading them for each file takes as long as
    // the tests. Nothing is mocked.
    projects: [
      // Tier 1, `npm test`: no PostgreSQL and no cluster. `npm run test:all` has its files below.
      project('quick', { include: process.argv.includes('quick') ? QUICK : [] }),
      // Tier 2, `npm run test:all`: tier 1, and what partly waits for processes and slots.
      project('built', {
        include: [...QUICK, '{conformance,core,abuse,e2e,simulation}/**/*.test.ts'],
        timeoutMs: 300_000,
      }),
    ],
  },
});
