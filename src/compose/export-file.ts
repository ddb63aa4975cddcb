/** The file of an export: written whole and for this user only, or not at all; compressed where its name says so. */
import { once } from 'node:events';
import { createReadStream, existsSync, linkSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { pid } from 'node:process';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type { Ambient } from '../cli/context.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { fileProblem } from '../files/read-file.js';
import { notAnExport } from '../store/transfer/format.js';
import { PRIVATE_FILE_MODE } from './local-config.js';

type Write = (text: string) => Promise<void>;

const refuse = (file: string, reason: string, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `${file}: ${reason}.`, { cause });

/** What the work writes stands under the name once all of it is on disk; a file that is there is never replaced. */
async function intoFile<Result>(file: string, work: (write: Write) => Promise<Result>): Promise<Result> {
  if (existsSync(file)) throw refuse(file, 'it is there already, and is not replaced');
  const partial = `${file}.${pid}.partial`;
  try {
    const handle = await open(partial, 'wx', PRIVATE_FILE_MODE);
    const sink = handle.createWriteStream({ flush: true });
    const gzip = file.endsWith('.gz') ? createGzip() : null;
    const top: Writable = gzip ?? sink;
    const done = gzip === null ? once(sink, 'close') : pipeline(gzip, sink);
    const failed = new Promise<never>((_, reject) => void sink.once('error', reject));
    failed.catch(() => undefined);
    done.catch(() => undefined);
    const result = await work(async (text) => {
      if (!top.write(text)) await Promise.race([once(top, 'drain'), failed]);
    });
    top.end();
    await Promise.race([done, failed]);
    linkSync(partial, file);
    return result;
  } catch (error) {
    throw isFlywheelError(error) ? error : refuse(file, `cannot be written: ${fileProblem(error)}`, error);
  } finally {
    rmSync(partial, { force: true });
  }
}

/** @param file - a path, or `-` for standard output. @throws `ERR_INPUT_INVALID` for a file that cannot be written. */
export function writeExport<Result>(
  { io }: Ambient,
  file: string,
  work: (write: Write) => Promise<Result>,
): Promise<Result> {
  if (file !== '-') return intoFile(file, work);
  return work(async (text) => {
    io.stdout.write(text);
    await io.stdout.drained();
  });
}

async function* bytesOf({ io }: Ambient, file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* file === '-' ? io.stdin.chunks() : (createReadStream(file) as AsyncIterable<Buffer>);
  } catch (error) {
    throw isFlywheelError(error) ? error : refuse(file, `cannot be read: ${fileProblem(error)}`, error);
  }
}

/** First bytes of what is compressed. */
const GZIP = [0x1f, 0x8b] as const;

async function* unpacked(bytes: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const first = await bytes.next();
  if (first.done === true) return;
  const all = (async function* () {
    yield first.value;
    yield* bytes;
  })();
  const isPacked = GZIP.every((byte, index) => first.value[index] === byte);
  yield* isPacked ? (Readable.from(all).pipe(createGunzip()) as AsyncIterable<Buffer>) : all;
}

/** The text of an export, packed or not. @throws `ERR_INPUT_INVALID` */
export async function* openExport(ambient: Ambient, file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    for await (const bytes of unpacked(bytesOf(ambient, file))) yield decoder.decode(bytes, { stream: true });
    yield decoder.decode();
  } catch (cause) {
    if (isFlywheelError(cause)) throw cause;
    throw notAnExport('is damaged: it cannot be unpacked, or is no text', { cause });
  }
}
