/** `flywheel local keys create`: what the key may do, and that it is shown once. */
import { describe, expect, it } from 'vitest';
import type { LocalAdmin } from '../../../../../../src/cli/context.js';
import type { ApiKeyCreated } from '../../../../../../src/contract/admin.js';
import { localWith, READER, refusal, refuse } from '../../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../../support/in-process.js';

const KEY: ApiKeyCreated = { id: 'key-1', key: 'fk_made_here', scopes: ['burn'] };
const LONGEST = 'T'.repeat(64);

/** A command line, and what was asked of its flywheel. */
function cliWith(options: TestCliOptions = {}) {
  const asked: Parameters<LocalAdmin['createKey']>[0][] = [];
  const openers = localWith({
    createKey: async (input) => {
      asked.push(input);
      return KEY;
    },
  });
  return { cli: testCli({ ...options, openers }), asked };
}

describe('local keys create', () => {
  it.each([
    [[], { scopes: ['burn', 'airdrop'], proofTypes: null }],
    [['--scope', 'airdrop', '--scope', 'airdrop'], { scopes: ['airdrop'], proofTypes: null }],
    [
      ['--scope', 'burn', '--proof-type', 'A', '--proof-type', LONGEST, '--proof-type', 'A'],
      { scopes: ['burn'], proofTypes: ['A', LONGEST] },
    ],
  ])('makes one for %j', async (words, input) => {
    const { cli, asked } = cliWith();
    const { exit, stdout, stderr } = await cli.run('local', 'keys', 'create', ...words);
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(KEY)}\n`, '']);
    expect(asked).toEqual([input]);
  });

  it('shows people the key on a line of its own', async () => {
    const { stdout } = await cliWith(READER).cli.run('local', 'keys', 'create', '--scope', 'burn');
    expect(stdout).toBe(
      'Made an API key. It is shown this once:\n  fk_made_here\nid      key-1\nscopes  burn\n',
    );
  });

  it.each([
    [['--scope', 'all'], 'ERR_USAGE', 'Allowed choices are burn, airdrop.'],
    [['--proof-type', ''], 'ERR_INPUT_INVALID', '--proof-type: a proof type has 1 to 64 characters'],
    [['--proof-type', `${LONGEST}T`], 'ERR_INPUT_INVALID', '--proof-type: a proof type has 1 to 64'],
    [['name'], 'ERR_USAGE', 'Too many arguments'],
  ])('refuses %j and makes none', async (words, code, message) => {
    const { cli, asked } = cliWith();
    const answer = await refusal(cli, 'local', 'keys', 'create', ...words);
    expect(answer).toEqual([2, code, expect.stringContaining(message)]);
    expect(asked).toEqual([]);
  });

  it('says what the flywheel says of a type that it does not have', async () => {
    const openers = localWith({ createKey: async () => refuse('ERR_INPUT_INVALID', 'No proof type X.') });
    const answer = await refusal(testCli({ openers }), 'local', 'keys', 'create', '--proof-type', 'X');
    expect(answer).toEqual([2, 'ERR_INPUT_INVALID', 'No proof type X.']);
  });
});
