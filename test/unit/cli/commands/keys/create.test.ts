/** `flywheel keys create`: the same key as `local keys create` makes. */
import { describe, expect, it } from 'vitest';
import type { LocalAdmin } from '../../../../../src/cli/context.js';
import { localWith, refusal } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';

describe('keys create', () => {
  it('asks for what was typed, and prints the key once', async () => {
    const asked: Parameters<LocalAdmin['createKey']>[0][] = [];
    const openers = localWith({
      createKey: async (input) => {
        asked.push(input);
        return { id: 'key-1', key: 'fwk_made', scopes: ['burn'] };
      },
    });
    const answer = await testCli({ openers }).run(
      ...['keys', 'create', '--scope', 'burn', '--proof-type', 'A', '--proof-type', 'A'],
    );
    expect([answer.exit, JSON.parse(answer.stdout)]).toEqual([
      0,
      { id: 'key-1', key: 'fwk_made', scopes: ['burn'] },
    ]);
    expect(asked).toEqual([{ scopes: ['burn'], proofTypes: ['A'] }]);
  });

  it('takes no name', async () => {
    expect((await refusal(testCli(), 'keys', 'create', 'shop')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});
