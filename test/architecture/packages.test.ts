/** What comes with the program: native packages are installed beside it, all else is bundled, under licences that allow it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundledPackages, mayBeShipped, notices } from '../../build/notices.mjs';
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
  it.each(['MIT', '(MIT OR GPL-3.0-only)', 'Apache-2.0', 'BSD-3-Clause'])('may be under %s', (licence) => {
    expect(mayBeShipped(licence)).toBe(true);
  });

  it.each([
    'GPL-3.0-only',
    'LGPL-3.0-only',
    'AGPL-3.0-or-later',
    'MPL-2.0',
    'SSPL-1.0',
    'UNLICENSED',
    undefined,
  ])('may not be under %s', (licence) => {
    expect(mayBeShipped(licence)).toBe(false);
  });

  const bundle = (...files: readonly string[]) =>
    bundledPackages([
      { outputs: { 'app.cjs': { inputs: Object.fromEntries(files.map((file) => [file, {}])) } } },
    ]);

  it('is named with its version, its licence and the text of that', () => {
    const packages = bundle(
      'src/app.ts',
      'node_modules/@sqds/multisig/lib/index.js',
      'node_modules/zod/index.js',
      'node_modules/zod/v4/core.js',
    );
    expect(packages.map(({ name, licence }) => ({ name, licence }))).toEqual([
      { name: '@sqds/multisig', licence: 'MIT' },
      { name: 'zod', licence: 'MIT' },
    ]);
    for (const { text } of packages) expect(text).toContain('Permission is hereby granted');
    expect(notices(packages)).toContain(`zod ${packages[1]?.version}\nLicence: MIT\n`);
  });

  it('ends the build where it may not be', () => {
    expect(() => bundle('node_modules/rpc-websockets/dist/index.cjs')).toThrow('LGPL-3.0-only');
  });
});

describe('the build', () => {
  it('has said whose code it holds, and holds none that is known to be broken', () => {
    const bundled: readonly { name: string; version: string; licence: string }[] = JSON.parse(
      read('dist/bundled.json'),
    );
    const text = read('THIRD_PARTY_NOTICES');
    expect(bundled.filter(({ licence }) => !mayBeShipped(licence))).toEqual([]);
    expect(bundled.filter(({ name, version }) => !text.includes(`\n${name} ${version}\n`))).toEqual([]);
    const names = bundled.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['commander', 'fastify', 'undici', 'zod', '@solana/web3.js']),
    );
    expect(names.filter((name) => ['bigint-buffer', 'elliptic', 'rpc-websockets'].includes(name))).toEqual(
      [],
    );
  });
});
