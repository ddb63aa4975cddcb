/** The number of connections to a database. */
import { describe, expect, it } from 'vitest';
import { testCli } from '../../support/in-process.js';

const whoami = (pool: string) =>
  testCli({
    env: { FLYWHEEL_DATABASE_URL: 'postgres://db.internal/flywheel', FLYWHEEL_DATABASE_POOL: pool },
  }).run('whoami', '--json');

describe('connections to a database', () => {
  it('are as many as the environment says', async () => {
    const { stdout } = await whoami('6');
    expect(JSON.parse(stdout)).toMatchObject({ databasePool: { value: 6, source: 'environment' } });
    for (const wrong of ['3', '1001', '4.5', 'many']) {
      const { exit, stderr } = await whoami(wrong);
      expect([exit, stderr]).toEqual([2, expect.stringContaining('FLYWHEEL_DATABASE_POOL')]);
    }
  });
});
