/** `flywheel profile add`: what is stored of what was typed, and how it is shown. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { READER, refusal } from '../../../../support/commands.js';
import { type TestCli, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const API = 'https://api.example.com';
const PINS = {
  multisig: namedAddress('multisig'),
  owner: namedAddress('owner'),
  operator: namedAddress('operator'),
  mint: namedAddress('mint'),
};
const PINNED = Object.entries(PINS).flatMap(([name, address]) => [`--${name}`, address]);

const stored = ({ home }: TestCli, file = 'profiles') =>
  JSON.parse(readFileSync(join(home, `.config/flywheel/${file}.json`), 'utf8'));

describe('profile add', () => {
  it('stores what was typed, global options among it, and prints it without the key', async () => {
    const cli = testCli({ stdin: ' fk_secret\n' });
    const words = [
      '--api-url',
      `${API}/`,
      '--api-key-header',
      'X-Key',
      '--data-dir',
      'd',
      '--keypair',
      'id.json',
    ];
    const { exit, stdout, stderr } = await cli.run(
      'profile',
      'add',
      'main',
      ...words,
      ...PINNED,
      '--api-key-stdin',
    );
    const profile = {
      ...{ apiUrl: API, apiKeyHeader: 'x-key', dataDir: join(cli.home, 'd'), keypair: 'id.json' },
      pinned: { ...PINS, vaultIndex: 0 },
    };
    expect([exit, stderr]).toEqual([0, '']);
    expect(stdout).toBe(`${JSON.stringify({ name: 'main', current: true, hasApiKey: true, ...profile })}\n`);
    expect(stored(cli)).toEqual({ current: 'main', profiles: { main: profile } });
    expect(stored(cli, 'api-keys')).toEqual({ main: 'fk_secret' });
  });

  it('stores nothing that comes from the environment, and leaves the first profile the current one', async () => {
    const cli = testCli({
      env: { FLYWHEEL_API_URL: API, FLYWHEEL_API_KEY: 'fk_env', FLYWHEEL_KEYPAIR: 'k' },
    });
    await cli.run('profile', 'add', 'first');
    const { stdout } = await cli.run('profile', 'add', 'second');
    expect(JSON.parse(stdout)).toEqual({ name: 'second', current: false, hasApiKey: false });
    expect(stored(cli)).toEqual({ current: 'first', profiles: { first: {}, second: {} } });
  });

  it('changes of a profile that is there what was typed, and keeps its key', async () => {
    const cli = testCli({ stdin: 'fk_secret' });
    await cli.run('profile', 'add', 'main', '--api-url', API, '--api-key-stdin');
    const { stdout } = await cli.run('profile', 'add', 'main', '--keypair', 'other.json');
    expect(JSON.parse(stdout)).toMatchObject({ apiUrl: API, keypair: 'other.json', hasApiKey: true });
  });

  it('tells people what is stored, and of the key only that', async () => {
    const cli = testCli({ ...READER, stdin: 'fk_secret' });
    const { stdout } = await cli.run('profile', 'add', 'main', '--api-url', API, '--api-key-stdin');
    expect(stdout).toBe(`main (current)\napi      ${API}\napi key  stored\n`);
  });

  it.each([
    [['../x'], 'ERR_INPUT_INVALID', 'A profile name has 1 to 64 letters'],
    [['main', '--owner', PINS.owner], 'ERR_USAGE', 'A flywheel is pinned by all of --multisig, --owner'],
    [
      ['main', ...PINNED, '--mint', 'x'],
      'ERR_INPUT_INVALID',
      '--mint: expected a base58 address of 32 bytes.',
    ],
    [
      ['main', ...PINNED, '--vault-index', '256'],
      'ERR_INPUT_INVALID',
      '--vault-index: expected a whole number',
    ],
    [['main', '--api-url', 'ftp://a'], 'ERR_CONFIG_INVALID', '--api-url must be an http or https address'],
    [['main', '--api-key', 'fk'], 'ERR_USAGE', "Unknown option '--api-key'"],
    [[], 'ERR_USAGE', "Missing required argument 'name'"],
  ])('refuses %j and stores nothing', async (words, code, message) => {
    const cli = testCli();
    expect(await refusal(cli, 'profile', 'add', ...words)).toEqual([
      2,
      code,
      expect.stringContaining(message),
    ]);
    expect(() => stored(cli)).toThrow('ENOENT');
  });

  it.each(['', 'two words', 'ключ', 'a\nb'])('refuses the key %j', async (stdin) => {
    const cli = testCli({ stdin });
    expect(await refusal(cli, 'profile', 'add', 'main', '--api-key-stdin')).toEqual([
      2,
      'ERR_INPUT_INVALID',
      'Standard input: expected an API key, visible ASCII characters on one line.',
    ]);
  });

  it('refuses a keypair where the name of its file belongs, without saying it again', async () => {
    const typed = '5'.repeat(88);
    const [exit, code, message] = await refusal(testCli(), 'profile', 'add', 'main', '--keypair', typed);
    expect([exit, code]).toEqual([2, 'ERR_KEYPAIR_INVALID']);
    expect(message).not.toContain(typed);
  });
});
