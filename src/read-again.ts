/** Reads into memory that is used again and again: what a start reads is needed only until V8 has taken it in. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** More than the largest that most commands read; what is not written to takes no memory. */
let scratch = Buffer.allocUnsafeSlow(1_024 * 1_024);

/** @returns what there is of so many bytes; good until the next is read. */
export function readBytes(descriptor: number, position: number, length: number): Buffer {
  if (length > scratch.length) scratch = Buffer.allocUnsafeSlow(length);
  let read = 0;
  while (read < length) {
    const more = readSync(descriptor, scratch, read, length - read, position + read);
    if (more === 0) break;
    read += more;
  }
  return scratch.subarray(0, read);
}

/** A file of ASCII: V8 keeps it in half the memory, and it is read in one go. */
export function readAscii(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    return readBytes(descriptor, 0, fstatSync(descriptor).size).toString('latin1');
  } finally {
    closeSync(descriptor);
  }
}
