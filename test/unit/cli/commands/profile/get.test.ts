/** One setting of a profile; what is secret only where it is asked for. */
import { describe, expect, it } from 'vitest';
import { READER, refusal } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';

const RPC = 'https://rpc.example/?api-key=hidden';

describe('profile get', () => {
  it('prints a setting as JSON, and as a line for people', async () => {
    const cli = testCli({ stdin: 'fk_hidden', ...READER });
    const at = ['--api-url', 'https://api.example', '--rpc-url', RPC, '--rpc-url', 'devnet'];
    await cli.run('profile', 'add', 'main', ...at, '--api-key-stdin');
    const get = async (...words: string[]) => (await cli.run('profile', 'get', 'main', ...words)).stdout;
    expect(await get('apiUrl')).toBe('https://api.example\n');
    expect(await get('apiUrl', '--json')).toContain('"https://api.example"');
    expect(await get('apiKey')).toBe('***\n');
    expect(await get('apiKey', '--reveal')).toBe('fk_hidden\n');
    expect(await get('rpcUrl')).not.toContain('hidden');
    expect((await get('rpcUrl')).split('\n')).toHaveLength(3);
    expect(await get('rpcUrl', '--reveal')).toBe(`${RPC}\ndevnet\n`);
    for (const name of ['dataDir', 'toString', 'name', 'hasApiKey'])
      expect(await refusal(cli, 'profile', 'get', 'main', name, '--json')).toEqual([
        ...[2, 'ERR_CONFIG_INVALID', expect.stringContaining(`sets no ${name}`)],
      ]);
  });
});
