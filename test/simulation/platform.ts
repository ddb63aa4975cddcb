/**
 * Replaces Node's random bytes, keys, timers and file writes: random numbers are seeded, timers of a simulated process are steps of
 * its virtual time, and each file write is a step at which the process may die or find the disk full.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { TimerOptions } from 'node:timers';
import promises from 'node:timers/promises';
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

const noSpace = (): Error => Object.assign(new Error('The disk is full.'), { code: 'ENOSPC' });
const isTemporary = (path: unknown): boolean => typeof path === 'string' && path.endsWith('.tmp');

type Ring = (...given: readonly unknown[]) => void;
type Start = (ring: Ring, ms?: number, ...given: readonly unknown[]) => unknown;

/** Timers of a simulated process end with it; the system's would outlive it, and keep its files open. */
const simTimer =
  (isRepeated: boolean, system: Start): Start =>
  (ring, ms = 1, ...given) => {
    const process = running.getStore();
    if (process === undefined) return system(ring, ms, ...given);
    let cancel = (): void => undefined;
    const timer = {
      refresh: () => {
        cancel();
        const nap = process.sleep(ms, false);
        cancel = nap.cancel;
        nap.over.then((isOver) => {
          if (isOver && isRepeated) timer.refresh();
          if (isOver) ring(...given);
        });
        return timer;
      },
      cancel: () => cancel(),
      unref: () => timer,
    };
    return timer.refresh();
  };

const clear =
  (system: (timer: never) => void) =>
  (timer: { cancel?: () => void } | undefined): void =>
    timer?.cancel === undefined ? system(timer as never) : timer.cancel();

const realPause = promises.setTimeout;

/** Waits in virtual time. @throws on abort, as the system's */
export async function pause<Value>(
  ms = 1,
  value?: Value,
  options: TimerOptions = {},
): Promise<Value | undefined> {
  const process = running.getStore();
  if (process === undefined) return realPause(ms, value, options);
  const { signal, ref = true } = options;
  const { over, cancel } = process.sleep(ms, ref);
  if (signal?.aborted === true) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  if (!(await over)) throw new DOMException('The operation was aborted', 'AbortError');
  return value;
}

/** Call once a program. */
export function takePlatform(): void {
  const { openSync, renameSync } = fs;
  Object.assign(crypto, { randomBytes: bytes, randomUUID: uuid, generateKeyPairSync: keyPair });
  Object.assign(fs, {
    openSync: (...parameters: Parameters<typeof openSync>): number => {
      const process = isTemporary(parameters[0]) ? running.getStore() : undefined;
      process?.file(noSpace);
      return openSync(...parameters);
    },
    renameSync: (...parameters: Parameters<typeof renameSync>): void => {
      running.getStore()?.file(noSpace);
      renameSync(...parameters);
    },
  });
  Object.assign(globalThis, {
    setTimeout: simTimer(false, setTimeout as Start),
    setInterval: simTimer(true, setInterval as Start),
    clearTimeout: clear(clearTimeout),
    clearInterval: clear(clearInterval),
  });
  promises.setTimeout = pause as typeof promises.setTimeout;
  const { performance } = globalThis;
  const now = performance.now.bind(performance);
  performance.now = () => running.getStore()?.timeMs ?? now();
  Math.random = () => (random?.bits() ?? 0) / 2 ** 32;
  globalThis.Date = SimulatedDate;
  syncBuiltinESMExports();
}
