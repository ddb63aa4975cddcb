/** The program's own tests under later nodes: contracts and the life of it, or with ALL_SUITES=1 every one. */
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { NODE_VERSIONS, nodeOf, run } from '../support/node-versions.js';

const QUICK = ['test/contract/store.test.ts', 'test/contract/chain.test.ts', 'test/e2e/batch-life.test.ts'];
const CORE = [
  ...QUICK,
  'test/e2e/cli-local.test.ts',
  'test/e2e/serve.test.ts',
  'test/e2e/code-cache.test.ts',
];
const WHOLE = process.env['ALL_SUITES'] === '1';

/** `npm test` is for node 20; what runs the tests needs a later one of that than the program does. */
const others = NODE_VERSIONS.slice(1, WHOLE ? undefined : 3);

describe.each(others)('node %s', (version) => {
  it('passes them', async () => {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
    const { status, stdout } = await run(await nodeOf(version), [...vitest, ...(WHOLE ? [] : CORE)], {
      cwd: process.cwd(),
      env: { HOME: tmpdir(), PATH: process.env['PATH'] ?? '', NO_COLOR: '1' },
    });
    expect({ status, failures: stdout.split('\n').filter((line) => /^ *(FAIL|×)/.test(line)) }).toEqual({
      status: 0,
      failures: [],
    });
    expect(stdout).toMatch(/^[1-9]\d+ passed, 0 failed$/m);
  });
});
