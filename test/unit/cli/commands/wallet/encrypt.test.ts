/** `flywheel wallet encrypt`: a new file that states how it is encrypted and whose it is; the original stays. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../../src/chain/transaction/signer.js';
import { addressFromBytes } from '../../../../../src/values/address.js';
import { refusal } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { openKeypair } from '../../../../support/sealed-keypair.js';

const KEYPAIR = generateKeypair();
const ADDRESS = addressFromBytes(KEYPAIR.slice(32));
const PLAIN = `[${KEYPAIR.join(',')}]\n`;
const PASSPHRASE = 'correct horse 電池';
const TERMINAL = { stdin: true, stderr: true };
const WORDS = ['wallet', 'encrypt', 'id.json', '--out', 'e.json'];

function withKeypair(options: TestCliOptions = {}, text = PLAIN) {
  const cli = testCli(options);
  writeFileSync(join(cli.home, 'id.json'), text, { mode: 0o600 });
  return cli;
}

describe('wallet encrypt', () => {
  it('asks for a passphrase twice and writes a file that it opens, for the user alone', async () => {
    const cli = withKeypair({ tty: TERMINAL, answers: [PASSPHRASE, PASSPHRASE] });
    const { exit, stdout, stderr, questions } = await cli.run(...WORDS);
    const [file, original] = [join(cli.home, 'e.json'), join(cli.home, 'id.json')];
    expect([exit, stdout]).toEqual([0, `${JSON.stringify({ address: ADDRESS, file, original })}\n`]);
    expect(questions).toEqual([`New passphrase for ${ADDRESS}: `, 'The same once more: ']);
    expect(stderr).toContain(`The original is still there, unencrypted: ${original}.`);
    expect(readFileSync(original, 'utf8')).toBe(PLAIN);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { kdf, cipher: _cipher, ...rest } = JSON.parse(readFileSync(file, 'utf8'));
    expect(rest).toEqual({ format: 'flywheel-encrypted-keypair', version: 1, address: ADDRESS });
    expect(kdf).toMatchObject({ name: 'scrypt', n: 131_072, r: 8, p: 1 });
    expect(openKeypair(readFileSync(file, 'utf8'), PASSPHRASE)).toEqual(Buffer.from(KEYPAIR));
  });

  it.each([
    ['a short passphrase', ['short', 'short'], 2, 'The passphrase: it has fewer than 12 characters.'],
    [
      'two that differ',
      [PASSPHRASE, `${PASSPHRASE}!`],
      2,
      'The passphrase: it was not typed the same twice.',
    ],
    ['none', [], 130, 'No passphrase was given.'],
  ])('writes nothing for %s', async (_name, answers, exit, message) => {
    const cli = withKeypair({ tty: TERMINAL, answers });
    expect(await refusal(cli, ...WORDS)).toEqual([exit, expect.any(String), message]);
    expect(existsSync(join(cli.home, 'e.json'))).toBe(false);
  });

  it('replaces no file, and asks nothing before it says so', async () => {
    const cli = withKeypair({ tty: TERMINAL, answers: [PASSPHRASE, PASSPHRASE] });
    const { exit, stderr, questions } = await cli.run('wallet', 'encrypt', 'id.json', '--out', 'id.json');
    expect([exit, questions]).toEqual([2, []]);
    expect(stderr).toContain('there is a file of that name already');
    expect(readFileSync(join(cli.home, 'id.json'), 'utf8')).toBe(PLAIN);
  });

  it('asks nothing about a keypair that is none', async () => {
    const cli = withKeypair({ tty: TERMINAL, answers: [PASSPHRASE] }, '[1,2]');
    const { exit, stderr, questions } = await cli.run(...WORDS);
    expect([exit, questions]).toEqual([2, []]);
    expect(stderr).toContain('id.json: a keypair has 64 bytes, this has 2.');
  });

  it('says what to do where nobody can be asked', async () => {
    expect(await refusal(withKeypair(), ...WORDS)).toEqual([
      2,
      'ERR_KEYPAIR_INVALID',
      'Nobody can be asked for a new passphrase here.',
    ]);
  });

  it.each([
    [['wallet', 'encrypt', 'id.json'], "Required option '--out <file>'"],
    [['wallet', 'encrypt', '--out', 'e.json'], "Missing required argument 'keypair'"],
    [[...WORDS, '--passphrase', PASSPHRASE], "Unknown option '--passphrase'"],
  ])('refuses %j', async (words, message) => {
    const answer = await refusal(withKeypair(), ...words);
    expect(answer).toEqual([2, 'ERR_USAGE', expect.stringContaining(message)]);
  });
});
