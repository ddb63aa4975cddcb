/** Keypairs: sources, refusals, and bytes that are never shown. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../src/chain/transaction/sign.js';
import { resolveSettings } from '../../../src/cli/config/resolve.js';
import { keypairLocation, loadKeypair, OwnerKeypair, requireKeypair } from '../../../src/cli/load-keypair.js';
import { addressFromBytes } from '../../../src/values/address.js';
import { base58Encode } from '../../../src/values/bytes.js';
import { testCli } from '../../support/in-process.js';

const KEYPAIR = generateKeypair();
const ADDRESS = addressFromBytes(KEYPAIR.slice(32));
const JSON_TEXT = JSON.stringify([...KEYPAIR]);
const SEED = KEYPAIR.slice(0, 32);

function contextWith(text: string, mode = 0o600) {
  const { context, home } = testCli();
  writeFileSync(join(home, 'id.json'), text);
  chmodSync(join(home, 'id.json'), mode);
  return context;
}
const refused = (location: Parameters<typeof loadKeypair>[1], context = testCli().context) =>
  loadKeypair(context, location).then(
    () => expect.unreachable('It was taken.'),
    (error: unknown) => error as { code: string; message: string; options: { hint?: string } },
  );

describe('a keypair', () => {
  it.each([
    ['in the format of the Solana CLI', JSON_TEXT],
    ['over many lines', JSON.stringify([...KEYPAIR], null, 2).replaceAll(',', ' ,\r')],
    ['in base58', `${base58Encode(KEYPAIR)}\n`],
  ])(
    'is read %s, from a file, standard input, or an open descriptor that can be read once',
    async (_name, text) => {
      expect((await loadKeypair(contextWith(text), 'id.json')).address).toBe(ADDRESS);
      expect((await loadKeypair(testCli({ stdin: text }).context, '-')).address).toBe(ADDRESS);
      const { context, home } = testCli();
      const pipe = join(home, 'pipe');
      execFileSync('mkfifo', ['-m', '600', pipe]);
      writeFileSync(join(home, 'id.json'), text, { mode: 0o600 });
      const writer = spawn('sh', ['-c', 'cat id.json > pipe'], { cwd: home });
      requireKeypair(context, pipe);
      const keypair = new OwnerKeypair(context, pipe);
      expect(await keypair.address()).toBeNull();
      for (let count = 0; count < 2; count += 1) expect((await keypair.signer()).address).toBe(ADDRESS);
      writer.kill();
    },
  );

  it.each([
    ['an empty file', ' '],
    ['a file that is too short', JSON.stringify([...SEED])],
    ['bytes out of range', '[256,1]'],
    ['bytes that JSON does not write so', '[01,1]'],
    ['a byte that is missing', '[1,,2]'],
    ['half a file', JSON_TEXT.slice(0, 100)],
    ['other text', 'hello 0OIl'],
    ['halves that do not belong together', JSON.stringify([...SEED, ...generateKeypair().slice(32)])],
  ])('is refused without being shown: %s', async (_name, text) => {
    const { code, message } = await refused('id.json', contextWith(text));
    expect([code, message]).toEqual(['ERR_KEYPAIR_INVALID', expect.stringMatching(/^id\.json: /)]);
    for (const part of text.match(/\w{4,}|\d+,\d+/g) ?? []) expect(message).not.toContain(part);
  });

  it('is refused where others can read it, with what to run as one can paste it', async () => {
    const { context, home } = testCli();
    mkdirSync(join(home, 'my keys'));
    writeFileSync(join(home, 'my keys/id.json'), JSON_TEXT, { mode: 0o640 });
    const { code, options } = await refused('my keys/id.json', context);
    expect([code, options.hint]).toEqual(['ERR_KEYPAIR_INVALID', `Run: chmod 600 '${home}/my keys/id.json'`]);
    expect((await refused('my keys', context)).message).toContain('directory');
  });

  it.each(['prompt://', 'ASK', 'usb://ledger', 'usb://ledger?key=0/0', 'none.json'])(
    'is not at %s',
    async (at) => {
      const { code, message, options } = await refused(at);
      expect([code, message]).toEqual(['ERR_KEYPAIR_INVALID', expect.stringContaining(at)]);
      if (at.startsWith('usb:')) expect(options.hint).toContain('--wallet');
    },
  );

  it.each([
    ['bytes without brackets', String([...KEYPAIR])],
    ['bytes with spaces', [...KEYPAIR].join(' ')],
    ['bytes in quotes', JSON.stringify(String([...KEYPAIR]))],
    ['an object', JSON.stringify({ secretKey: [...KEYPAIR] })],
    ['base58 in quotes', `'${base58Encode(KEYPAIR)}'`],
    ['the secret half in base58', base58Encode(SEED)],
    ['the secret half in base64', Buffer.from(SEED).toString('base64')],
    ['base64 for addresses', Buffer.from(KEYPAIR).toString('base64url')],
    ['the words of a wallet', Array.from({ length: 12 }, () => 'abandon').join(' ')],
  ])('is not shown in the place of a file name: %s', async (_name, text) => {
    const { context } = testCli({ env: { FLYWHEEL_KEYPAIR: text } });
    const location = keypairLocation(resolveSettings(context, {}), undefined);
    const { code, message } = await refused(location, context);
    expect([code, message]).toEqual(['ERR_KEYPAIR_INVALID', expect.stringMatching(/^FLYWHEEL_KEYPAIR: /)]);
    expect(message.includes(text)).toBe(false);
    const typed = testCli().context;
    expect(() => keypairLocation(resolveSettings(typed, {}), text)).toThrow(/^--keypair [^'"[{]*$/);
  });
});
