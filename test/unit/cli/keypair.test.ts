/** Keypairs: where they come from, which are refused, and that their bytes are never shown. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../src/chain/transaction/signer.js';
import { resolveSettings } from '../../../src/cli/config/resolve.js';
import {
  keypairLocation,
  keypairOwner,
  loadKeypair,
  requireKeypair,
} from '../../../src/cli/wallet/load-keypair.js';
import { addressFromBytes } from '../../../src/values/address.js';
import { base58Encode } from '../../../src/values/base58.js';
import { type TestCliOptions, testCli } from '../../support/in-process.js';

const KEYPAIR = generateKeypair();
const ADDRESS = addressFromBytes(KEYPAIR.slice(32));
const JSON_TEXT = JSON.stringify([...KEYPAIR]);

function contextWith(text: string, mode = 0o600, options: TestCliOptions = {}) {
  const { context, home } = testCli(options);
  writeFileSync(join(home, 'id.json'), text);
  chmodSync(join(home, 'id.json'), mode);
  return context;
}

describe('loadKeypair', () => {
  it.each([
    ['the format of the Solana CLI', JSON_TEXT],
    ['the same over many lines', JSON.stringify([...KEYPAIR], null, 2).replaceAll(',', ' ,\r')],
    ['base58', `${base58Encode(KEYPAIR)}\n`],
  ])('reads %s', async (_name, text) => {
    expect((await loadKeypair(contextWith(text), 'id.json')).address).toBe(ADDRESS);
  });

  it('reads standard input', async () => {
    expect((await loadKeypair(testCli({ stdin: JSON_TEXT }).context, '-')).address).toBe(ADDRESS);
  });

  it.each([
    ['as it is', JSON_TEXT],
    ['in base58', base58Encode(KEYPAIR)],
  ])('reads an open descriptor once, after it was looked for: %s', async (_name, text) => {
    const { context, home } = testCli();
    const pipe = join(home, 'pipe');
    execFileSync('mkfifo', ['-m', '600', pipe]);
    writeFileSync(join(home, 'id.json'), text, { mode: 0o600 });
    const writer = spawn('sh', ['-c', 'cat id.json > pipe'], { cwd: home });
    requireKeypair(context, pipe);
    expect(await keypairOwner(context, pipe)).toBeNull();
    expect((await loadKeypair(context, pipe)).address).toBe(ADDRESS);
    writer.kill();
  });

  it.each([
    ['a file that others can read', JSON_TEXT, 0o640, 'others can read this keypair file'],
    ['an empty file', ' ', 0o600, 'it is empty'],
    [
      'a file that is too short',
      JSON.stringify([...KEYPAIR.slice(0, 32)]),
      0o600,
      'a keypair has 64 bytes, this has 32',
    ],
    ['bytes out of range', '[256,1]', 0o600, 'it is not a JSON array of bytes'],
    ['bytes that JSON does not write so', '[01,1]', 0o600, 'it is not a whole JSON array'],
    ['a byte that is missing', '[1,,2]', 0o600, 'it is not a whole JSON array'],
    ['a comma too many', '[1,2,]', 0o600, 'it is not a whole JSON array'],
    ['two bytes in one place', '[1 2]', 0o600, 'it is not a whole JSON array'],
    ['negative bytes', '[-1]', 0o600, 'it is not a JSON array of bytes'],
    ['half a file', JSON_TEXT.slice(0, 100), 0o600, 'it is not a whole JSON array'],
    ['other text', 'hello 0OIl', 0o600, 'it is neither a JSON array of bytes nor base58'],
    [
      'halves that do not belong together',
      JSON.stringify([...KEYPAIR.slice(0, 32), ...generateKeypair().slice(32)]),
      0o600,
      'The public half of the keypair does not belong to its secret half',
    ],
  ])('refuses %s without showing it', async (_name, text, mode, reason) => {
    const error = await loadKeypair(contextWith(text, mode), 'id.json').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'ERR_KEYPAIR_INVALID', message: `id.json: ${reason}.` });
  });

  it('says what to run where others can read it, as one can paste it anywhere', async () => {
    const { context, home } = testCli();
    mkdirSync(join(home, 'my keys'));
    writeFileSync(join(home, 'my keys/id.json'), JSON_TEXT, { mode: 0o640 });
    await expect(loadKeypair(context, 'my keys/id.json')).rejects.toMatchObject({
      options: { hint: `Run: chmod 600 '${home}/my keys/id.json'` },
    });
  });

  it.each(['prompt://', 'ASK'])('says that %s is not supported', async (location) => {
    await expect(loadKeypair(testCli().context, location)).rejects.toMatchObject({
      code: 'ERR_KEYPAIR_INVALID',
      message: `${location}: prompts are not supported.`,
    });
  });

  it.each(['usb://ledger', 'usb://ledger?key=0/0'])('sends who gives %s to the wallet', async (location) => {
    await expect(loadKeypair(testCli().context, location)).rejects.toMatchObject({
      code: 'ERR_KEYPAIR_INVALID',
      message: `${location}: a hardware wallet signs through the wallet in your browser.`,
      options: { hint: expect.stringContaining('--wallet') },
    });
  });

  it('says that a missing file is missing', async () => {
    await expect(loadKeypair(testCli().context, 'none.json')).rejects.toMatchObject({
      message: 'none.json: there is no such file.',
    });
  });
});

const SEED = KEYPAIR.slice(0, 32);
const SPELLINGS: readonly (readonly [string, string])[] = [
  ['bytes without brackets', String([...KEYPAIR])],
  ['bytes with spaces', [...KEYPAIR].join(' ')],
  ['bytes in quotes', JSON.stringify(String([...KEYPAIR]))],
  ['an object', JSON.stringify({ secretKey: [...KEYPAIR] })],
  ['base58 in quotes', `'${base58Encode(KEYPAIR)}'`],
  ['the secret half in base58', base58Encode(SEED)],
  ['the secret half in base64', Buffer.from(SEED).toString('base64')],
  ['base64 for addresses', Buffer.from(KEYPAIR).toString('base64url')],
  ['the words of a wallet', Array.from({ length: 12 }, () => 'abandon').join(' ')],
];

describe('a keypair in a spelling that is not read', () => {
  it.each(SPELLINGS)('is not shown where the environment holds it: %s', async (_name, text) => {
    const { context } = testCli({ env: { FLYWHEEL_KEYPAIR: text } });
    const source = keypairLocation(context, resolveSettings(context, {}), undefined);
    const error = await loadKeypair(context, source).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'ERR_KEYPAIR_INVALID',
      message: expect.stringMatching(/^FLYWHEEL_KEYPAIR: (it is|a keypair has) /),
    });
  });

  it.each(SPELLINGS)('is not said again where it was typed: %s', (_name, text) => {
    const { context } = testCli();
    expect(() => keypairLocation(context, resolveSettings(context, {}), text)).toThrow(
      '--keypair takes the name of a file, and was given a keypair itself.',
    );
  });

  it.each(['/home/alice/projects/flywheel/deployments/keys/owner', 'owner key of the live flywheel.json'])(
    'is not what a file is called: %s',
    (path) => {
      const { context } = testCli({ env: { FLYWHEEL_KEYPAIR: path } });
      expect(keypairLocation(context, resolveSettings(context, {}), undefined)).toBe(path);
    },
  );
});

describe('keypairLocation', () => {
  it('takes the flag, then the environment, then what the Solana CLI uses', () => {
    const { context, home } = testCli({ env: { FLYWHEEL_KEYPAIR: 'env.json' } });
    const settings = resolveSettings(context, {});
    expect(keypairLocation(context, settings, 'flag.json')).toBe('flag.json');
    expect(keypairLocation(context, settings, undefined)).toBe('env.json');
    const bare = resolveSettings({ ...context, env: {} }, {});
    expect(() => keypairLocation(context, bare, undefined)).toThrow('No keypair was given.');
    mkdirSync(join(home, '.config/solana/cli'), { recursive: true });
    writeFileSync(join(home, '.config/solana/cli/config.yml'), '---\nkeypair_path: "/home/a b/id.json"\n');
    expect(keypairLocation(context, bare, undefined)).toBe('/home/a b/id.json');
  });
});
