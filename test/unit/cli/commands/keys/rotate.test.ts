/** `flywheel keys rotate`: which key, for how long the old one stays, and where the new one lies. */
import { describe, expect, it } from 'vitest';
import type { LocalAdmin, RotatedKey } from '../../../../../src/cli/context.js';
import { localWith, READER, refusal } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const KEY: RotatedKey = {
  ...{
    id: 'key-2',
    key: 'fwk_made',
    scopes: ['burn'],
    proofTypes: null,
    file: '/data/rotated-keys/key-1.key',
  },
  ...{ dateCreated: '2026-01-31T12:00:00.000Z', dateRevoked: null, dateExpires: null, rotatedFrom: 'key-1' },
  ...{ validUntil: '2026-02-01T12:00:00.000Z', isOwn: true },
};

function cliWith(options: TestCliOptions = {}) {
  const asked: Parameters<LocalAdmin['rotateKey']>[0][] = [];
  const openers = localWith({
    rotateKey: async (input) => {
      asked.push(input);
      return KEY;
    },
  });
  return { cli: testCli({ ...options, openers }), asked };
}

describe('keys rotate', () => {
  it.each([
    [[], 86_400_000],
    [['--grace', '0'], 0],
    [['--grace', '30min'], 1_800_000],
    [['--grace', '7d'], 604_800_000],
  ])('lets the old key stay for %j', async (words, graceMs) => {
    const { cli, asked } = cliWith();
    const { exit, stdout } = await cli.run('keys', 'rotate', 'key-1', ...words);
    expect([exit, JSON.parse(stdout)]).toEqual([0, KEY]);
    expect(asked).toEqual([{ id: 'key-1', graceMs, outFile: null }]);
  });

  it('writes the new key where it was asked to', async () => {
    const { cli, asked } = cliWith();
    await cli.run('keys', 'rotate', 'key-1', '--out', '/secrets/shop.key');
    expect(asked[0]?.outFile).toBe('/secrets/shop.key');
  });

  it('tells people where it lies, and until when the old one is valid', async () => {
    const { stdout } = await cliWith(READER).cli.run('keys', 'rotate', 'key-1');
    expect(stdout).toBe(
      [
        'Made an API key in the place of another:',
        '  fwk_made',
        'id           key-2',
        'scopes       burn',
        'kept in      /data/rotated-keys/key-1.key',
        '             readable by this user only',
        'in place of  key-1, which is valid until 2026-02-01T12:00:00.000Z',
        'The commands on this machine use the new key from now on.\n',
      ].join('\n'),
    );
  });

  it.each(['24', '-1h', '1w', '999999d'])('refuses a grace of %s', async (grace) => {
    const { cli, asked } = cliWith();
    expect((await refusal(cli, 'keys', 'rotate', 'key-1', `--grace=${grace}`)).slice(0, 2)).toEqual([
      2,
      'ERR_INPUT_INVALID',
    ]);
    expect(asked).toEqual([]);
  });
});
