/** Runs the tests under every later Node; `npm test` covers Node 20. */
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { NODE_VERSIONS, nodeOf, run } from './node-versions.js';

describe.each(NODE_VERSIONS.slice(1))('node %s', (version) => {
  it('passes them', async () => {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
    const { status, stdout } = await run(await nodeOf(version), vitest, {
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
