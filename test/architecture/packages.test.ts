/** Dependencies of the program: native packages are installed, all others are bundled, under permitted licences. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './sources.js';

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const manifest = JSON.parse(read('package.json'));
const optional: readonly string[] = Object.keys(manifest.optionalDependencies);
const { '': _root, ...locked } = JSON.parse(read('package-lock.json')).packages as Record<
  string,
  LockedPackage
>;

describe('what is installed with the program', () => {
  it('is native: whatever is JavaScript only is bundled, and a dependency of development', () => {
    expect(manifest.dependencies).toBeUndefined();
    expect(optional.filter((name) => !/^(@libsql\/|litesvm-)/.test(name))).toEqual([]);
  });

  it('is for one platform each, brings nothing along and runs nothing', () => {
    const shipped = Object.entries(locked).filter(([, { dev }]) => dev !== true);
    expect(shipped.map(([path]) => path.replace('node_modules/', '')).sort()).toEqual([...optional].sort());
    const wrong = shipped.filter(
      ([, one]) => one.os?.length !== 1 || one.cpu?.length !== 1 || one.hasInstallScript === true,
    );
    expect(wrong.map(([path]) => path)).toEqual([]);
  });

  it('is there for both, the database and the chain, on Linux and macOS', () => {
    const on = (platform: string) => optional.filter((name) => name.includes(platform)).length;
    expect(['darwin-arm64', 'darwin-x64', 'linux-arm64-gnu', 'linux-arm64-musl'].map(on)).toEqual([
      2, 2, 2, 2,
    ]);
    expect(['linux-x64-gnu', 'linux-x64-musl', 'win32-x64-msvc'].map(on)).toEqual([2, 2, 1]);
  });
});

describe('the lock', () => {
  it('has the digest of every package of every platform, and no address', () => {
    const open = Object.entries(locked).filter(
      ([, { integrity, resolved }]) => integrity?.startsWith('sha512-') !== true || resolved !== undefined,
    );
    expect(open.map(([path]) => path)).toEqual([]);
  });
});

describe('what is bundled', () => {
  const bundled: readonly { name: string; version: string; licence: string }[] = JSON.parse(
    read('dist/bundled.json'),
  );
  const names = bundled.map(({ name }) => name);

  it('stands with its version and the text of its licence in THIRD_PARTY_NOTICES', () => {
    const text = read('THIRD_PARTY_NOTICES');
    expect(bundled.filter(({ name, version }) => !text.includes(`\n${name} ${version}\n`))).toEqual([]);
    expect(names).toEqual(
      expect.arrayContaining(['commander', 'fastify', 'undici', 'zod', '@solana/web3.js']),
    );
  });

  it('is under licences that allow it, and not known to be broken', () => {
    expect(bundled.filter(({ licence }) => /GPL|MPL|SSPL|UNLICENSED/.test(licence))).toEqual([]);
    expect(names.filter((name) => ['bigint-buffer', 'elliptic', 'rpc-websockets'].includes(name))).toEqual(
      [],
    );
  });
});
