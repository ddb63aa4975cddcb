/** Keypairs under a passphrase: what the file says, who can open it, and what a foreign one cannot make this program do. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../src/chain/transaction/signer.js';
import { loadKeypair } from '../../../src/cli/wallet/load-keypair.js';
import { ownerKey } from '../../../src/cli/wallet/owner-key.js';
import { addressFromBytes } from '../../../src/values/address.js';
import { type TestCliOptions, testCli } from '../../support/in-process.js';
import { sealKeypair } from '../../support/sealed-keypair.js';

const KEYPAIR = generateKeypair();
const ADDRESS = addressFromBytes(KEYPAIR.slice(32));
const PASSPHRASE = 'correct horse 電池';

const encrypted = sealKeypair(KEYPAIR, ADDRESS, PASSPHRASE);

const TERMINAL = { stdin: true, stderr: true };

function withFile(name: string, text: string, options: TestCliOptions = {}) {
  const cli = testCli(options);
  writeFileSync(join(cli.home, name), text, { mode: 0o600 });
  return cli;
}

type Stated = Readonly<Record<'kdf' | 'cipher', object>>;

/** The file with something in it changed. */
const changed = (change: (file: Stated) => void): string => {
  const file = JSON.parse(encrypted) as Stated;
  change(file);
  return JSON.stringify(file);
};

describe('an encrypted keypair', () => {
  it('tells its address without the passphrase, and signs with it', async () => {
    const { context } = withFile('e.json', encrypted, { tty: TERMINAL, answers: [PASSPHRASE] });
    const key = ownerKey(context, 'e.json');
    expect(key.describe()).toEqual({ name: 'e.json', isEncrypted: true, address: ADDRESS });
    expect((await key.load()).address).toBe(ADDRESS);
  });

  it('does not show what the environment holds in place of the name of a file', async () => {
    const env = { FLYWHEEL_KEY_PASSPHRASE_FILE: PASSPHRASE };
    const { context } = withFile('e.json', encrypted, { env });
    await expect(loadKeypair(context, 'e.json')).rejects.toMatchObject({
      code: 'ERR_KEYPAIR_INVALID',
      message: 'FLYWHEEL_KEY_PASSPHRASE_FILE: there is no such file.',
    });
  });

  it('takes its passphrase from the file that the environment names', async () => {
    const env = { FLYWHEEL_KEY_PASSPHRASE_FILE: 'pass' };
    const cli = withFile('e.json', encrypted, { env });
    writeFileSync(join(cli.home, 'pass'), `${PASSPHRASE}\r\n`, { mode: 0o600 });
    expect((await loadKeypair(cli.context, 'e.json')).address).toBe(ADDRESS);
    writeFileSync(join(cli.home, 'open'), PASSPHRASE, { mode: 0o644 });
    const open = { ...cli.context, env: { FLYWHEEL_KEY_PASSPHRASE_FILE: 'open' } };
    await expect(loadKeypair(open, 'e.json')).rejects.toMatchObject({
      message: 'open: others can read this passphrase file.',
    });
  });

  it('is looked at by doctor without a question', async () => {
    const cli = withFile('e.json', encrypted, { env: { FLYWHEEL_KEYPAIR: 'e.json' }, tty: TERMINAL });
    const { stdout, questions } = await cli.run('doctor', '--json');
    expect(questions).toEqual([]);
    expect(stdout).toContain(`${ADDRESS} (encrypted)`);
  });

  it('cannot be opened where nobody can be asked', async () => {
    const { context } = withFile('e.json', encrypted);
    await expect(loadKeypair(context, 'e.json')).rejects.toMatchObject({
      code: 'ERR_KEYPAIR_INVALID',
      message: 'The keypair is encrypted, and nobody can be asked for its passphrase here.',
    });
  });

  it.each([
    ['another passphrase', () => encrypted, 'wrong passphrase'],
    [
      'another address',
      () => changed((file) => Object.assign(file, { address: addressFromBytes(new Uint8Array(32)) })),
      PASSPHRASE,
    ],
    ['other parameters', () => changed(({ kdf }) => Object.assign(kdf, { n: 2 ** 15 })), PASSPHRASE],
    [
      'another nonce',
      () => changed(({ cipher }) => Object.assign(cipher, { nonce: 'AAAAAAAAAAAAAAAA' })),
      PASSPHRASE,
    ],
  ])('does not open with %s', async (_name, text, passphrase) => {
    const { context } = withFile('e.json', text(), { tty: TERMINAL, answers: [passphrase] });
    await expect(loadKeypair(context, 'e.json')).rejects.toMatchObject({
      code: 'ERR_KEYPAIR_INVALID',
      message: 'e.json: the passphrase does not fit, or the file was changed.',
    });
  });

  it.each([
    ['100 GB of memory', { n: 2 ** 27, r: 8 }, /more work than any keypair file needs/],
    ['as many rounds', { p: 1_000 }, /more work than any keypair file needs/],
    ['a large r', { n: 2 ** 14, r: 4_096 }, /more work than any keypair file needs/],
    ['no work at all', { n: 2 }, /at least 16384 is safe/],
    ['a number that is no power of two', { n: 100_000 }, /not valid/],
    ['text for a number', { n: '131072' }, /not valid/],
    ['a negative number', { p: -1 }, /not valid/],
  ])('is refused before anything is asked when it wants %s', async (_name, cost, reason) => {
    const cli = withFile(
      'e.json',
      changed(({ kdf }) => Object.assign(kdf, cost)),
      { tty: TERMINAL },
    );
    expect(() => ownerKey(cli.context, 'e.json').describe()).toThrow(reason);
    await expect(loadKeypair(cli.context, 'e.json')).rejects.toThrow(reason);
  });

  it.each([
    ['another format', { format: 'x' }, 'it is no keypair that this program encrypted'],
    ['a later version', { version: 2 }, 'it is of a version that this program does not know'],
    ['no address', { address: 'x' }, 'it does not name its address'],
    ['another key derivation', { kdf: { name: 'pbkdf2' } }, 'its key derivation is not scrypt'],
    ['another cipher', { cipher: { name: 'aes-256-cbc' } }, 'its cipher is not aes-256-gcm'],
  ])('is refused with %s', async (_name, parts, reason) => {
    const { context } = withFile(
      'e.json',
      changed((file) => Object.assign(file, parts)),
    );
    expect(() => ownerKey(context, 'e.json').describe()).toThrow(`e.json: ${reason}.`);
  });
});

describe('a plain keypair', () => {
  it('is described without being read', () => {
    // Were more of it read than its first byte, it would be refused.
    const { context } = withFile('id.json', `[${'1'.repeat(10_000)}`);
    expect(ownerKey(context, 'id.json').describe()).toEqual({
      ...{ name: 'id.json', isEncrypted: false, address: null },
    });
  });
});
