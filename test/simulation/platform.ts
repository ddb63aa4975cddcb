/**
 * Replaces Node's random bytes, keys and file writes by seeded ones; each file write is a step at which a process may die or find
 * the disk full.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { Random } from '../fuzz/random.js';
import type { SimProcess } from './process.js';

/** The simulated process of the running code. */
export const running = new AsyncLocalStorage<SimProcess>();

const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

let random: Random | undefined;

let nowMs: () => number = () => 0;

export function seedPlatform(from: Random, now: () => number): void {
  random = from;
  nowMs = now;
}

/** For libraries that read seconds from Date. */
const SimulatedDate = new Proxy(Date, {
  construct: (date, parameters: ConstructorParameters<typeof Date> | []) =>
    parameters.length === 0 ? new date(nowMs()) : new date(...parameters),
  get: (date, name) => (name === 'now' ? () => nowMs() : Reflect.get(date, name)),
});

const bytes = (size: number): Buffer => Buffer.from(random?.bytes(size) ?? new Uint8Array(size));

function uuid(): ReturnType<typeof crypto.randomUUID> {
  const text = bytes(16);
  text[6] = ((text[6] ?? 0) & 0x0f) | 0x40;
  text[8] = ((text[8] ?? 0) & 0x3f) | 0x80;
  const hex = text.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function keyPair(): { privateKey: crypto.KeyObject; publicKey: crypto.KeyObject } {
  const key = Buffer.concat([PKCS8_ED25519, bytes(32)]);
  const privateKey = crypto.createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: crypto.createPublicKey(privateKey) };
}

const isTemporary = (path: unknown): boolean => typeof path === 'string' && path.endsWith('.tmp');

/** Call once a program. */
export function takePlatform(): void {
  const { openSync, renameSync } = fs;
  Object.assign(crypto, { randomBytes: bytes, randomUUID: uuid, generateKeyPairSync: keyPair });
  Object.assign(fs, {
    openSync: (...parameters: Parameters<typeof openSync>): number => {
      const process = isTemporary(parameters[0]) ? running.getStore() : undefined;
      process?.file('write a file');
      return openSync(...parameters);
    },
    renameSync: (...parameters: Parameters<typeof renameSync>): void => {
      running.getStore()?.file('rename a file');
      renameSync(...parameters);
    },
  });
  Math.random = () => (random?.bits() ?? 0) / 2 ** 32;
  globalThis.Date = SimulatedDate;
  syncBuiltinESMExports();
}
