/** Files with many elements: a signal interrupts the reading, and nothing is sent. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { sampleOf } from '../support/long.js';
import { emptyDirectory, flywheel, startFlywheel } from '../support/spawn.js';

let home: string;

beforeEach(async () => {
  home = emptyDirectory();
  expect((await flywheel({ home }, 'local', 'init')).exit).toBe(0);
});

const lines = (count: number): string =>
  Array.from(
    { length: count },
    (_, id) => `{"type":"WATCH_AD","proof":{"id":${id}},"burnAmount":0.001,"persistOnchain":false}\n`,
  ).join('');

/** More than a pipe buffers, so the program has read some of it once all is written. */
const MANY = 5_000;
const written = (to: Writable, text: string): Promise<unknown> =>
  new Promise((resolve) => void to.write(text, resolve));

describe('burn-batch of a long file', () => {
  const SOURCES = [
    ['standard input of which no more comes', '-'],
    ['a file of which more comes', 'burns.ndjson'],
  ] as const;
  it.each(sampleOf(SOURCES, 1))('is interrupted while it reads %s, with nothing begun', async (_, file) => {
    if (file !== '-') execFileSync('mkfifo', [join(home, file)]);
    const child = startFlywheel({ home }, ['burn-batch', file]);
    const input = file === '-' ? (child.stdin as Writable) : createWriteStream(join(home, file));
    input.on('error', () => undefined);
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
    const ended = once(child, 'close');
    await written(input, lines(MANY));
    child.kill('SIGINT');
    if (file !== '-') input.end(lines(MANY));
    expect((await ended)[0]).toBe(130);
    input.destroy();
    expect(JSON.parse(stderr)).toMatchObject({
      error: 'ERR_INTERRUPTED',
      message: 'Interrupted while reading. Nothing was sent.',
    });
    expect(JSON.parse((await flywheel({ home }, 'pending')).stdout)).toEqual([]);
  });
});
