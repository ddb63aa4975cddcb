/** Settings of a profile that are changed one by one: all of what is typed, or nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { refusal } from '../../../../support/commands.js';
import { type TestCli, testCli } from '../../../../support/in-process.js';

async function withProfile(): Promise<TestCli> {
  const cli = testCli();
  await cli.run('profile', 'add', 'main', '--api-url', 'https://api.example');
  return cli;
}

const kept = ({ home }: TestCli): unknown =>
  JSON.parse(readFileSync(join(home, '.config/flywheel/profiles.json'), 'utf8')).profiles.main;

describe('profile set', () => {
  it('sets several, takes one away, and prints what there is now', async () => {
    const cli = await withProfile();
    const { exit, stdout } = await cli.run(
      ...[
        'profile',
        'set',
        'main',
        'apiUrl=https://other.example/',
        'rpcUrl=devnet, https://rpc.example?key=s',
      ],
      ...['rpcQuorum=2', 'dataDir=data', 'commitment=finalized'],
    );
    expect(exit).toBe(0);
    expect(stdout).not.toContain('key=s');
    expect(kept(cli)).toEqual({
      ...{ apiUrl: 'https://other.example/', rpcUrl: ['devnet', 'https://rpc.example?key=s'], rpcQuorum: 2 },
      ...{ dataDir: join(cli.home, 'data'), commitment: 'finalized' },
    });
    await cli.run('profile', 'set', 'main', 'rpcUrl=', 'rpcQuorum=');
    expect(kept(cli)).toEqual({
      ...{ apiUrl: 'https://other.example/', dataDir: join(cli.home, 'data'), commitment: 'finalized' },
    });
  });

  it.each([
    ['profile', 'set', 'main', 'apiUrl=https://other.example'],
    ['profile', 'add', 'main', '--api-url', 'https://other.example'],
  ])('sends the key of one service to no other: %s %s', async (...words) => {
    const cli = testCli({ stdin: 'fk_secret\n' });
    const add = ['profile', 'add', 'main', '--api-key-stdin', '--api-url'];
    expect((await cli.run(...add, 'https://api.example/v1')).exit).toBe(0);
    const [exit, code, message] = await refusal(cli, ...words);
    expect([exit, code]).toEqual([2, 'ERR_CONFIG_INVALID']);
    expect(message).toContain('was given for https://api.example and would be sent to https://other.example');
    expect(kept(cli)).toEqual({ apiUrl: 'https://api.example/v1' });
    expect((await cli.run('profile', 'set', 'main', 'apiUrl=https://api.example/v2')).exit).toBe(0);
    expect((await cli.run(...add, 'https://other.example')).exit).toBe(0);
  });

  it.each([
    [['apiUrl=ftp://x'], 'ERR_CONFIG_INVALID', 'must be an http or https address'],
    [['rpcUrl=devnet', 'rpcQuorum=2'], 'ERR_CONFIG_INVALID', 'have to agree'],
    [['commitment=maybe'], 'ERR_CONFIG_INVALID', 'commitment'],
    [['maxTip=many'], 'ERR_INPUT_INVALID', 'maxTip: expected a whole number'],
    [['apiKey=x'], 'ERR_INPUT_INVALID', 'There is no setting "apiKey" to set.'],
    [['limits={}'], 'ERR_INPUT_INVALID', 'There is no setting "limits" to set.'],
    [['apiUrl'], 'ERR_USAGE', 'Expected name=value'],
  ])('refuses %j, and changes nothing of it', async (words, code, message) => {
    const cli = await withProfile();
    const before = kept(cli);
    const [exit, refused, text] = await refusal(cli, 'profile', 'set', 'main', 'keypair=k.json', ...words);
    expect([exit, refused, text]).toEqual([2, code, expect.stringMatching(new RegExp(message, 'i'))]);
    expect(kept(cli)).toEqual(before);
  });

  it('needs a profile that is there', async () => {
    expect((await refusal(await withProfile(), 'profile', 'set', 'other', 'apiUrl=')).slice(0, 2)).toEqual([
      ...[2, 'ERR_CONFIG_INVALID'],
    ]);
  });
});
