/**
 * Checks, packs and publishes a release from a clean tree; with `npm run release -- --dry-run` everything except publishing.
 * `npm run ci:long` has to pass before the tag is made; see docs/releasing.md.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'release';
const words = process.argv.slice(2);
const isDry = words.includes('--dry-run');
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const tag = `v${manifest.version}`;

const say = (text) => void process.stderr.write(`${text}\n`);

function run(file, args, stdio = 'pipe') {
  const { status, stdout, stderr } = spawnSync(file, args, {
    encoding: 'utf8',
    stdio: ['ignore', stdio, stdio],
  });
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${status}. ${stderr ?? ''}`);
  return stdout?.trim() ?? '';
}

function problems() {
  const found = [];
  if (run('git', ['tag', '--points-at', 'HEAD', tag]) !== tag) found.push(`HEAD has not the tag ${tag}.`);
  if (!readFileSync('CHANGELOG.md', 'utf8').includes(`\n## ${manifest.version}`))
    found.push(`CHANGELOG.md has no section ${manifest.version}.`);
  if (process.env.GITHUB_ACTIONS !== 'true' && process.env.GITLAB_CI !== 'true')
    found.push('A provenance can only be signed in CI (GitHub Actions or GitLab).');
  return found;
}

/** The package must contain only what is committed, in a dry run too. */
function demandCleanTree() {
  const changes = run('git', ['status', '--porcelain']);
  if (changes !== '') throw new Error(`The tree is not clean:\n${changes}`);
}

function pack() {
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', FOLDER]),
  );
  return filename;
}

const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** SBOM of bundled packages and optional dependencies. @throws if the lock file lacks one */
function releaseSbom(all, bundled) {
  const wanted = [
    ...bundled.map(({ name, version }) => [name, version, true]),
    ...Object.entries(manifest.optionalDependencies).map(([name, version]) => [name, version, false]),
  ];
  const components = wanted.map(([name, version, isBundled]) => {
    const purl = purlOf(name, version);
    const component = all.components.find((one) => one.purl === purl);
    if (component === undefined) throw new Error(`${name} ${version} is not in the lock.`);
    return {
      ...component,
      // The lock file lists an aliased package under its alias.
      name,
      scope: isBundled ? 'required' : 'optional',
      properties: [{ name: 'flywheel:bundled', value: String(isBundled) }],
    };
  });
  const root = { ...all.metadata.component, name: manifest.name, type: 'application' };
  return {
    ...all,
    metadata: { ...all.metadata, lifecycles: [{ phase: 'build' }], component: root },
    components,
    dependencies: [
      { ref: root['bom-ref'], dependsOn: components.map((one) => one['bom-ref']) },
      ...components.map((one) => ({ ref: one['bom-ref'], dependsOn: [] })),
    ],
  };
}

function writeSbom() {
  const all = JSON.parse(run('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']));
  const bundled = JSON.parse(readFileSync('dist/bundled.json', 'utf8'));
  const name = `flywheel-${manifest.version}.cdx.json`;
  writeFileSync(join(FOLDER, name), `${JSON.stringify(releaseSbom(all, bundled), null, 2)}\n`);
  return name;
}

const checksum = (name) =>
  `${createHash('sha256')
    .update(readFileSync(join(FOLDER, name)))
    .digest('hex')}  ${name}\n`;

function release() {
  demandCleanTree();
  const against = problems();
  for (const problem of against) say(isDry ? `not ready: ${problem}` : problem);
  if (against.length > 0 && !isDry) throw new Error('Nothing was published.');
  if (isDry) say('not run here: `npm run ci:long`, which has to pass before the tag is made');
  if (words.includes('--no-checks') && isDry) run('npm', ['run', 'build'], 'inherit');
  else run('npm', ['run', 'ci'], 'inherit');
  demandCleanTree();
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const files = [pack(), writeSbom()];
  writeFileSync(join(FOLDER, 'SHA256SUMS'), files.map(checksum).join(''));
  const publish = ['publish', join(FOLDER, files[0]), '--provenance', '--access', 'public'];
  if (isDry) say(`would run: npm ${publish.join(' ')}`);
  else run('npm', publish, 'inherit');
  say(`${FOLDER}: ${[...files, 'SHA256SUMS'].join(', ')}`);
}

try {
  release();
} catch (error) {
  say(`error: ${error.message}`);
  process.exitCode = 1;
}
