/** Paths that a written file must not replace. */
import { lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDirectory } from '../../../src/files/directories.js';
import { checkWritable, writeFileAtomic } from '../../../src/files/write-file.js';
import { emptyDirectory } from '../../support/spawn.js';

const linkTo = (target: string): string => {
  const path = join(emptyDirectory(), 'out');
  symlinkSync(target, path);
  return path;
};

describe('a file that is written', () => {
  it.each(['/dev/null', '/proc/self/fd/1', '/dev/fd/1'])('does not take the place of %s', (target) => {
    const path = linkTo(target);
    for (const write of [
      () => checkWritable(path, 'ERR_INPUT_INVALID'),
      () => writeFileAtomic(path, 'text', 'ERR_INPUT_INVALID'),
    ])
      expect(write).toThrow('cannot be written: it is a device, a pipe or a socket');
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
  });

  it('takes the place of a link to another file, which stays as it is', () => {
    const target = linkTo('nowhere');
    writeFileAtomic(target, 'old', 'ERR_INPUT_INVALID');
    const path = linkTo(target);
    writeFileAtomic(path, 'new', 'ERR_INPUT_INVALID');
    expect([readFileSync(path, 'utf8'), readFileSync(target, 'utf8')]).toEqual(['new', 'old']);
  });
});

it('a directory is not made where a file stands in its place', () => {
  const file = join(emptyDirectory(), 'file');
  writeFileSync(file, '');
  expect(() => makeDirectory(join(file, 'a'))).toThrow('ENOTDIR');
  expect(() => makeDirectory(file)).toThrow('EEXIST');
});
