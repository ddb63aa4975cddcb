/** The loaded package reports its name and version. */
import Database from 'libsql';
import { expect, it } from 'vitest';
import { loadNative } from '../../../src/chain/local/native-vm.js';
import { loadedNatives } from '../../../src/files/native-packages.js';

it('names each native package that was loaded, with its version', () => {
  new Database(':memory:').close();
  loadNative();
  const version = expect.stringMatching(/^\d+\.\d+\.\d+/);
  expect(loadedNatives()).toEqual(
    expect.arrayContaining([
      { name: expect.stringMatching(/^@libsql\//), version },
      { name: expect.stringMatching(/^litesvm-/), version },
    ]),
  );
});
