/** Random identifiers from the system's own source: a short command is there long before it has loaded node's cryptography. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { randomIds } from '../values/ids.js';
import { type Uuid, uuidOf } from '../values/uuid.js';

const SOURCE = '/dev/urandom';
const UUID_BYTES = 16;
const RANDOM_VERSION = 4;

/** A random UUID; where the system has no such source, one of node's. */
export function systemUuid(source: string = SOURCE): Uuid {
  const bytes = randomBytesOf(source);
  return bytes === undefined ? randomIds.uuid() : uuidOf(bytes, RANDOM_VERSION);
}

/** As many as a UUID has; `undefined` where it is no device or gives fewer. */
function randomBytesOf(source: string): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(source, 'r');
    const bytes = Buffer.alloc(UUID_BYTES);
    const isSource = fstatSync(descriptor).isCharacterDevice();
    return isSource && readSync(descriptor, bytes) === UUID_BYTES ? bytes : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
