/** The data directory: configuration, private files, keys, and their errors. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../src/chain/transaction/sign.js';
import { createFileKeyring } from '../../../src/compose/keyring.js';
import {
  dataFiles,
  readLocalConfig,
  readSecret,
  wipeDataDirectory,
  writeLocalConfig,
} from '../../../src/compose/local-config.js';
import { emptyDirectory } from '../../support/spawn.js';

let directory: string;
beforeEach(() => {
  directory = emptyDirectory();
});

const treasury = createKeypairSigner(generateKeypair()).address;
const config = { treasury, ownerKeypair: '/somewhere/owner.json', squadsProgram: false, genesis: 'set up' };
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('home', () => {
  it.each(['', '{', '[]', 'null', '{"version":99}', '{"version":2,"treasury":"x"}'])(
    'says that %j is no configuration',
    (text) => {
      writeFileSync(dataFiles(directory).config, text);
      expect(() => readLocalConfig(directory)).toThrow(
        expect.objectContaining({
          code: 'ERR_STORE_UNAVAILABLE',
          message: expect.stringContaining(dataFiles(directory).config),
        }),
      );
    },
  );

  it('reads the API key without the line end that editors leave', () => {
    expect(readSecret(dataFiles(directory).apiKey)).toBeNull();
    writeFileSync(dataFiles(directory).apiKey, 'fwk_abc\n');
    expect(readSecret(dataFiles(directory).apiKey)?.reveal()).toBe('fwk_abc');
    writeFileSync(dataFiles(directory).apiKey, '\n');
    expect(readSecret(dataFiles(directory).apiKey)).toBeNull();
  });

  it('wipes its own files and no others', () => {
    writeLocalConfig(directory, config);
    createFileKeyring(dataFiles(directory).keys).create();
    for (const file of ['store.db', 'store.db-wal', 'ledger.db', 'ledger.db-shm', 'api-key', 'mine.txt']) {
      writeFileSync(join(directory, file), 'x');
    }
    wipeDataDirectory(directory);
    expect(readdirSync(directory)).toEqual(['mine.txt']);
  });
});

describe('createFileKeyring', () => {
  it('keeps its keys between processes, each for the user only', () => {
    const made = createFileKeyring(directory).create();
    const again = createFileKeyring(directory).get(made.address);
    const message = Buffer.from('hello');
    expect(Buffer.from(again.signNow(message))).toEqual(Buffer.from(made.signNow(message)));
    expect(modeOf(join(directory, `${made.address}.json`))).toBe(0o600);
  });

  it.each([
    ['not there', (): undefined => undefined, 'no such file'],
    ['damaged', (path: string) => writeFileSync(path, '[1,2,'), 'this is not a keypair file'],
    [
      'another key',
      (path: string) => writeFileSync(path, JSON.stringify([...generateKeypair()])),
      'another address',
    ],
    ['a directory', (path: string) => mkdirSync(path), 'directory'],
  ])('says that a key is %s, without its content', (_name, spoil, part) => {
    const path = join(directory, `${treasury}.json`);
    spoil(path);
    const error = (() => {
      try {
        return createFileKeyring(directory).get(treasury) && undefined;
      } catch (reason) {
        return reason as { code: string; message: string; cause?: unknown };
      }
    })();
    expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    expect(error?.message).toContain(path);
    expect(error?.message).toContain(part);
    expect(error?.cause).toBeUndefined();
  });
});
