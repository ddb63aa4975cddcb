/** `flywheel keys list`: every key with its end and its predecessor, as JSON, as a table, as CSV. */
import { describe, expect, it } from 'vitest';
import type { ApiKeyInfo } from '../../../../../src/contract/admin.js';
import { localWith, READER } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const CREATED = '2026-01-31T12:00:00.000Z';
const ENDS = '2026-02-01T12:00:00.000Z';
const KEYS: readonly ApiKeyInfo[] = [
  {
    ...{ id: 'key-1', scopes: ['burn', 'airdrop'], proofTypes: null, dateCreated: CREATED },
    ...{ dateRevoked: null, dateExpires: ENDS, rotatedFrom: null },
  },
  {
    ...{ id: 'key-2', scopes: ['burn'], proofTypes: ['A'], dateCreated: CREATED },
    ...{ dateRevoked: null, dateExpires: null, rotatedFrom: 'key-1' },
  },
];

const list = (options: TestCliOptions, ...words: readonly string[]) =>
  testCli({ ...options, openers: localWith({ listKeys: async () => KEYS }) }).run('keys', 'list', ...words);

describe('keys list', () => {
  it('prints a list', async () => {
    expect(await list({})).toMatchObject({ exit: 0, stdout: `${JSON.stringify(KEYS)}\n`, stderr: '' });
  });

  it('shows people until when a key is valid', async () => {
    const text = (await list(READER)).stdout.replace(/ +/g, ' ');
    for (const part of ['ends', ENDS, 'never', 'key-2']) expect(text).toContain(part);
  });

  it('prints CSV', async () => {
    expect((await list({}, '--output', 'csv')).stdout).toBe(
      [
        'id,scopes,proof types,created,ends,revoked,in the place of',
        `key-1,burn airdrop,,${CREATED},${ENDS},,`,
        `key-2,burn,A,${CREATED},,,key-1\n`,
      ].join('\n'),
    );
  });
});
