import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDirectory } from '../../../src/files/directories.js';
import { emptyDirectory } from '../../support/spawn.js';

describe('makeDirectory', () => {
  it('makes what is missing, for this user alone, and leaves what is there', () => {
    const top = emptyDirectory();
    mkdirSync(join(top, 'open'), { mode: 0o755 });
    const path = join(top, 'open', 'a', 'b');
    makeDirectory(path);
    makeDirectory(path);
    const modes = ['open', 'open/a', 'open/a/b'].map((part) => statSync(join(top, part)).mode & 0o777);
    expect(modes).toEqual([0o755, 0o700, 0o700]);
  });

  it('fails where a file is in the way', () => {
    const top = emptyDirectory();
    writeFileSync(join(top, 'file'), '');
    expect(() => makeDirectory(join(top, 'file', 'a'))).toThrow('ENOTDIR');
    expect(() => makeDirectory(join(top, 'file'))).toThrow('EEXIST');
  });

  it.runIf(process.platform === 'linux')('fails where nothing can be made, and does not try for ever', () => {
    expect(() => makeDirectory('/proc/nowhere/a/b')).toThrow('ENOENT');
  });
});
