/** `flywheel wallet decrypt`: the file of the Solana CLI again, with a word on what that means. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../../src/chain/transaction/signer.js';
import { addressFromBytes } from '../../../../../src/values/address.js';
import { complaint, refusal } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { sealKeypair } from '../../../../support/sealed-keypair.js';

const KEYPAIR = generateKeypair();
const ADDRESS = addressFromBytes(KEYPAIR.slice(32));
const PLAIN = `[${KEYPAIR.join(',')}]\n`;
const PASSPHRASE = 'correct horse 電池';
const SEALED = sealKeypair(KEYPAIR, ADDRESS, PASSPHRASE);
const TERMINAL = { stdin: true, stderr: true };
const WORDS = ['wallet', 'decrypt', 'e.json', '--out', 'id.json'];

function withFile(options: TestCliOptions = {}, text = SEALED) {
  const cli = testCli(options);
  writeFileSync(join(cli.home, 'e.json'), text, { mode: 0o600 });
  return cli;
}

describe('wallet decrypt', () => {
  it('asks for the passphrase and writes the keypair, for the user alone', async () => {
    const cli = withFile({ tty: TERMINAL, answers: [PASSPHRASE] });
    const { exit, stdout, stderr, questions } = await cli.run(...WORDS);
    const file = join(cli.home, 'id.json');
    expect([exit, stdout]).toEqual([0, `${JSON.stringify({ address: ADDRESS, file })}\n`]);
    expect(questions).toEqual([`Passphrase of e.json (${ADDRESS}): `]);
    expect(JSON.parse(stderr).warning).toBe(`${file} is not encrypted: who reads it can sign as ${ADDRESS}.`);
    expect(readFileSync(file, 'utf8')).toBe(PLAIN);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('says so to people', async () => {
    const tty = { ...TERMINAL, stdout: true };
    const cli = withFile({ tty, env: { NO_COLOR: '1' }, answers: [PASSPHRASE] });
    expect((await cli.run(...WORDS)).stdout).toBe(
      `Wrote the keypair of ${ADDRESS} to ${join(cli.home, 'id.json')}.\n`,
    );
  });

  it.each([
    [
      'another passphrase',
      'wrong passphrase',
      2,
      'e.json: the passphrase does not fit, or the file was changed.',
    ],
    ['none', undefined, 130, 'No passphrase was given.'],
  ])('writes nothing for %s', async (_what, answer, exit, message) => {
    const cli = withFile({ tty: TERMINAL, answers: answer === undefined ? [] : [answer] });
    expect(await refusal(cli, ...WORDS)).toEqual([exit, expect.any(String), message]);
    expect(existsSync(join(cli.home, 'id.json'))).toBe(false);
  });

  it('replaces no file, and asks nothing before it says so', async () => {
    const cli = withFile({ tty: TERMINAL, answers: [PASSPHRASE] });
    writeFileSync(join(cli.home, 'id.json'), 'mine');
    const { exit, stderr, questions } = await cli.run(...WORDS);
    expect([exit, questions]).toEqual([2, []]);
    expect(complaint(stderr).message).toContain('there is a file of that name already');
    expect(readFileSync(join(cli.home, 'id.json'), 'utf8')).toBe('mine');
  });

  it('refuses what is not encrypted, and words that it does not know', async () => {
    expect(await refusal(withFile({}, PLAIN), ...WORDS)).toEqual([
      2,
      'ERR_KEYPAIR_INVALID',
      'e.json: it is not encrypted.',
    ]);
    expect((await refusal(withFile(), 'wallet', 'decrypt', 'e.json'))[1]).toBe('ERR_USAGE');
    expect((await refusal(withFile(), ...WORDS, '--passphrase', PASSPHRASE))[1]).toBe('ERR_USAGE');
  });
});
