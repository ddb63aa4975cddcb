/** `flywheel keys revoke`: which key, and since when it is refused. */
import { describe, expect, it } from 'vitest';
import { localWith, refusal, refuse } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';

describe('keys revoke', () => {
  it('prints the key as it is now', async () => {
    const key = {
      ...{
        id: 'key-1',
        scopes: ['burn'] as const,
        proofTypes: null,
        dateCreated: '2026-01-31T12:00:00.000Z',
      },
      ...{ dateRevoked: '2026-01-31T12:00:02.000Z', dateExpires: null, rotatedFrom: null },
    };
    const openers = localWith({ revokeKey: async () => key });
    const { exit, stdout } = await testCli({ openers }).run('keys', 'revoke', 'key-1');
    expect([exit, JSON.parse(stdout)]).toEqual([0, key]);
  });

  it('says so when there is no such key, and needs one id', async () => {
    const openers = localWith({ revokeKey: async () => refuse('ERR_NOT_FOUND', 'There is no API key x.') });
    const cli = testCli({ openers });
    expect(await refusal(cli, 'keys', 'revoke', 'x')).toEqual([5, 'ERR_NOT_FOUND', 'There is no API key x.']);
    expect((await refusal(cli, 'keys', 'revoke')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});
