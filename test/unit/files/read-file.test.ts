import { describe, expect, it } from 'vitest';
import { fileProblem } from '../../../src/files/read-file.js';

describe('fileProblem', () => {
  it.each([
    ['ENOSPC', 'the disk is full'],
    ['EDQUOT', 'the disk quota of this user is exceeded'],
    ['EROFS', 'the file system is read-only'],
    ['EIO', 'the disk reports an error'],
    ['ENOENT', 'there is no such file'],
    ['EXDEV', 'file system error EXDEV'],
  ])('has words for %s', (code, words) => {
    expect(fileProblem(Object.assign(new Error(code), { code }))).toBe(words);
  });
});
