/** A rotation whose answer is lost, wherever it stops, is made again without a third key. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dataFiles } from '../../../src/compose/local-config.js';
import { rotateKeyInFile } from '../../../src/compose/rotate-key.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { Secret } from '../../../src/values/secret.js';
import { openTestEngine, type TestEngine } from '../../support/engine.js';

const HOUR_MS = 3_600_000;

let test: TestEngine;
let id: string;
let old: string;
beforeEach(async () => {
  test = await openTestEngine();
  ({ id, key: old } = await test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] }));
});
afterEach(() => test.destroy());

const rotate = (admin = test.engine, more: { readonly outFile?: string; readonly graceMs?: number } = {}) =>
  rotateKeyInFile(test.dataDir, admin, { id, graceMs: HOUR_MS, outFile: null, ...more });

describe('rotateKeyInFile', () => {
  it('keeps the new key in a file of this user, and lets both work', async () => {
    const { key, file, isOwn, validUntil } = await rotate();
    expect(readFileSync(file, 'utf8')).toBe(`${key}\n`);
    expect([statSync(file).mode & 0o777, isOwn]).toEqual([0o600, false]);
    expect(Date.parse(validUntil ?? '') - Date.now()).toBeGreaterThan(HOUR_MS - 60_000);
    for (const text of [old, key])
      expect((await test.engine.authenticate(new Secret(text))).scopes).toEqual(['burn']);
  });

  it('makes no third key when the answer was lost after the store had it', async () => {
    const first = await rotate();
    const again = await rotate();
    expect(again).toEqual(first);
    expect(await test.engine.listKeys()).toHaveLength(3);
    const acts = await test.engine.audit({ limit: 10 });
    expect(acts.map(({ action }) => action)).toEqual(['keys.rotate', 'keys.create', 'register']);
  });

  it('carries on with the key in the file when it stopped before the store had it', async () => {
    const dying = {
      keyToRotate: test.engine.keyToRotate,
      rotateKey: async (): Promise<never> => {
        throw new FlywheelError('ERR_STORE_UNAVAILABLE', 'Cut.');
      },
    };
    await expect(
      rotateKeyInFile(test.dataDir, dying, { id, graceMs: 0, outFile: null }),
    ).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
    });
    const file = join(test.dataDir, 'rotated-keys', `${id}.key`);
    const kept = readFileSync(file, 'utf8').trim();
    expect((await test.engine.authenticate(new Secret(old))).keyId).toBe(id);
    expect((await rotate()).key).toBe(kept);
    expect(await test.engine.listKeys()).toHaveLength(3);
  });

  it('refuses a second successor, and makes one once the lost one is revoked', async () => {
    const first = await rotate();
    const outFile = join(test.dataDir, 'other.key');
    await expect(rotate(test.engine, { outFile })).rejects.toMatchObject({
      code: 'ERR_INVALID_REQUEST',
      message: expect.stringContaining(first.id),
    });
    await test.engine.revokeKey(first.id);
    const second = await rotate(test.engine, { outFile });
    expect(second.id).not.toBe(first.id);
    expect((await test.engine.authenticate(new Secret(second.key))).keyId).toBe(second.id);
  });

  it('of two at once leaves no file with a key that opens nothing', async () => {
    const files = ['one.key', 'other.key'].map((name) => join(test.dataDir, name));
    const ended = await Promise.allSettled(files.map((outFile) => rotate(test.engine, { outFile })));
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(files.map((file) => existsSync(file))).toEqual(ended.map(({ status }) => status === 'fulfilled'));
  });

  it('gives the commands of this machine the new key, where the old one was theirs', async () => {
    const { apiKey } = dataFiles(test.dataDir);
    writeFileSync(apiKey, `${old}\n`, { mode: 0o600 });
    const { key, isOwn } = await rotate();
    expect([isOwn, readFileSync(apiKey, 'utf8')]).toEqual([true, `${key}\n`]);
  });

  it('takes over no file that holds something else, and changes nothing', async () => {
    const outFile = join(test.dataDir, 'notes.txt');
    writeFileSync(outFile, 'my notes');
    await expect(rotate(test.engine, { outFile })).rejects.toMatchObject({ code: 'ERR_INPUT_INVALID' });
    expect(readFileSync(outFile, 'utf8')).toBe('my notes');
    expect(await test.engine.listKeys()).toHaveLength(2);
  });

  it('refuses a key that is revoked, over or unknown, and makes no file', async () => {
    await test.engine.revokeKey(id);
    const outFile = join(test.dataDir, 'new.key');
    await expect(rotate(test.engine, { outFile })).rejects.toMatchObject({ code: 'ERR_INVALID_REQUEST' });
    id = 'no-such-key';
    await expect(rotate(test.engine, { outFile })).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
    expect(existsSync(outFile)).toBe(false);
  });

  it('refuses a file with a key that is in use', async () => {
    const outFile = join(test.dataDir, 'project.key');
    writeFileSync(outFile, `${test.project.key.reveal()}\n`);
    await expect(rotate(test.engine, { outFile })).rejects.toMatchObject({ code: 'ERR_INVALID_REQUEST' });
    expect(readFileSync(outFile, 'utf8')).toBe(`${test.project.key.reveal()}\n`);
  });
});
