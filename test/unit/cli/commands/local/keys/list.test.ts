/** `flywheel local keys list`: every key, and never a key itself. */
import { describe, expect, it } from 'vitest';
import type { ApiKeyInfo } from '../../../../../../src/contract/admin.js';
import { localWith, READER, refusal, refuse } from '../../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../../support/in-process.js';

const KEYS: readonly ApiKeyInfo[] = [
  {
    ...{ id: 'key-1', scopes: ['burn', 'airdrop'], proofTypes: null },
    ...{ dateCreated: '2026-01-31T12:00:00.000Z', dateRevoked: null, dateExpires: null, rotatedFrom: null },
  },
  {
    ...{ id: 'key-2', scopes: ['burn'], proofTypes: ['A', 'B'] },
    ...{
      dateCreated: '2026-01-31T12:00:01.000Z',
      dateRevoked: '2026-01-31T12:00:02.000Z',
      dateExpires: null,
      rotatedFrom: null,
    },
  },
];

const list = (keys: readonly ApiKeyInfo[], options: TestCliOptions, ...words: readonly string[]) =>
  testCli({ ...options, openers: localWith({ listKeys: async () => keys }) }).run(
    'local',
    'keys',
    'list',
    ...words,
  );

describe('local keys list', () => {
  it('prints a list, or a line a key', async () => {
    expect(await list(KEYS, {})).toMatchObject({ exit: 0, stdout: `${JSON.stringify(KEYS)}\n`, stderr: '' });
    expect((await list(KEYS, {}, '--output', 'ndjson')).stdout).toBe(
      KEYS.map((key) => `${JSON.stringify(key)}\n`).join(''),
    );
  });

  it('says of each for people what it may do and whether it is revoked', async () => {
    const wide = await list(KEYS, READER);
    const text = wide.stdout.replace(/ +/g, ' ');
    for (const part of ['key-1', 'burn, airdrop', 'all', 'no', 'key-2', 'A, B', '2026-01-31T12:00:02.000Z'])
      expect(text).toContain(part);
    expect((await list([], READER)).stdout).toBe('There is no API key.\n');
  });

  it('says so where nothing was set up, and takes no argument', async () => {
    const openers = localWith({
      listKeys: async () => refuse('ERR_LOCAL_NOT_FOUND', 'There is no flywheel.'),
    });
    expect((await refusal(testCli({ openers }), 'local', 'keys', 'list'))[1]).toBe('ERR_LOCAL_NOT_FOUND');
    expect((await refusal(testCli(), 'local', 'keys', 'list', 'key-1')).slice(0, 2)).toEqual([
      2,
      'ERR_USAGE',
    ]);
  });
});
