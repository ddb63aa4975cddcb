/** `flywheel local keys revoke`: which key, and since when it is refused. */
import { describe, expect, it } from 'vitest';
import type { ApiKeyInfo } from '../../../../../../src/contract/admin.js';
import { localWith, READER, refusal, refuse } from '../../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../../support/in-process.js';

const REVOKED: ApiKeyInfo = {
  ...{ id: 'key-1', scopes: ['burn'], proofTypes: null },
  ...{
    dateCreated: '2026-01-31T12:00:00.000Z',
    dateRevoked: '2026-01-31T12:00:02.000Z',
    dateExpires: null,
    rotatedFrom: null,
  },
};

/** A command line, and which keys its flywheel was to revoke. */
function cliWith(options: TestCliOptions = {}) {
  const asked: string[] = [];
  const openers = localWith({
    revokeKey: async (id) => {
      asked.push(id);
      return id === 'key-1' ? REVOKED : refuse('ERR_NOT_FOUND', `There is no API key ${id}.`);
    },
  });
  return { cli: testCli({ ...options, openers }), asked };
}

describe('local keys revoke', () => {
  it('prints the key as it is now', async () => {
    const { cli, asked } = cliWith();
    const { exit, stdout, stderr } = await cli.run('local', 'keys', 'revoke', 'key-1');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(REVOKED)}\n`, '']);
    expect(asked).toEqual(['key-1']);
  });

  it('tells people since when', async () => {
    const { stdout } = await cliWith(READER).cli.run('local', 'keys', 'revoke', 'key-1');
    expect(stdout).toBe('Revoked key-1 (2026-01-31T12:00:02.000Z).\n');
  });

  it('says so when there is no such key', async () => {
    expect(await refusal(cliWith().cli, 'local', 'keys', 'revoke', 'key-9')).toEqual([
      5,
      'ERR_NOT_FOUND',
      'There is no API key key-9.',
    ]);
  });

  it('needs one id', async () => {
    const { cli, asked } = cliWith();
    for (const words of [[], ['key-1', 'key-2']])
      expect((await refusal(cli, 'local', 'keys', 'revoke', ...words)).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    expect(asked).toEqual([]);
  });
});
