/** The release command as a dry run: its result on a clean tree, and its refusals. Never publishes. */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory } from '../support/spawn.js';
import { run } from './node-versions.js';

const tree = join(emptyDirectory(), 'flywheel');
const env = { HOME: emptyDirectory(), PATH: process.env['PATH'] ?? '' };
const git = (...words: readonly string[]) =>
  run('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...words], { cwd: tree, env });
const release = (...words: readonly string[]) =>
  run(process.execPath, ['build/release.mjs', ...words], { cwd: tree, env });
const read = (file: string): string => readFileSync(join(tree, 'release', file), 'utf8');

beforeAll(async () => {
  const here = { cwd: process.cwd(), env };
  const { stdout } = await run('git', ['ls-files', '-co', '--exclude-standard'], here);
  for (const file of stdout.trim().split('\n')) cpSync(file, join(tree, file));
  symlinkSync(join(process.cwd(), 'node_modules'), join(tree, 'node_modules'));
  // .gitignore ignores a directory of this name; a symlink needs its own entry.
  await run('git', ['init', '--quiet'], { cwd: tree, env });
  writeFileSync(join(tree, '.git/info/exclude'), 'node_modules\n');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'all');
});

describe('npm run release', () => {
  it('packs, lists what is inside, and says what it would publish', async () => {
    const { status, stderr } = await release('--dry-run', '--no-checks');
    expect({ status, stderr }).toEqual({ status: 0, stderr });
    const { version, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    const [pack, bill] = [`flywheel-${version}.tgz`, `flywheel-${version}.cdx.json`];
    expect(stderr).toContain(`would run: npm publish release/${pack} --provenance --access public`);
    expect(readdirSync(join(tree, 'release')).sort()).toEqual(['SHA256SUMS', bill, pack].sort());
    for (const line of read('SHA256SUMS').trim().split('\n')) {
      const [digest, name = ''] = line.split('  ');
      expect(digest).toBe(
        createHash('sha256')
          .update(readFileSync(join(tree, 'release', name)))
          .digest('hex'),
      );
    }

    const sbom = JSON.parse(read(bill));
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'flywheel', version } },
    });
    interface Component {
      readonly name: string;
      readonly version: string;
      readonly hashes: readonly { readonly alg: string }[];
      readonly properties: readonly { readonly value: string }[];
    }
    const components: readonly Component[] = sbom.components;
    const are = (bundled: string) =>
      components
        .filter(({ properties }) => properties[0]?.value === bundled)
        .map((one) => `${one.name} ${one.version}`);
    const bundled: readonly { name: string; version: string }[] = JSON.parse(
      readFileSync(join(tree, 'dist/bundled.json'), 'utf8'),
    );
    expect(are('true').sort()).toEqual(bundled.map((one) => `${one.name} ${one.version}`).sort());
    expect(are('false').sort()).toEqual(
      Object.entries(optionalDependencies)
        .map((one) => one.join(' '))
        .sort(),
    );
    for (const { hashes } of components) expect(hashes[0]?.alg).toBe('SHA-512');
  });

  it('refuses a tree with changes, and to publish without tag, section and CI', async () => {
    expect(await release()).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /has not the tag v.*\n.*no section.*\n.*only be signed in CI.*\nerror: Nothing was/,
      ),
    });
    writeFileSync(join(tree, 'left-over.txt'), '');
    expect(await release('--dry-run', '--no-checks')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('The tree is not clean:\n?? left-over.txt'),
    });
  });
});
