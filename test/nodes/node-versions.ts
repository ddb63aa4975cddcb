/** Provides other Node versions from the registry, and installs the packed program with one of them in isolation. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { emptyDirectory } from '../support/spawn.js';

/** The oldest supported version, and a late version of each later line. */
export const NODE_VERSIONS = ['20.18.0', '22.23.3', '24.21.0', '26.10.0'] as const;

const CACHE = resolve('node_modules/.cache/node-versions');

const REACHING_THE_REGISTRY = ['NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'NO_PROXY', 'npm_config_registry'];

const registryEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    REACHING_THE_REGISTRY.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** The npm that runs this test, or the one of this Node. */
const npm = (): string =>
  process.env['npm_execpath'] ??
  join(dirname(realpathSync(process.execPath)), '../lib/node_modules/npm/bin/npm-cli.js');

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Does not throw on a failure exit. */
export async function run(
  file: string,
  words: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Ended> {
  const limits = { maxBuffer: 64 * 1_024 * 1_024, timeout: 900_000 };
  try {
    return { status: 0, ...(await promisify(execFile)(file, [...words], { ...options, ...limits })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    return { status: typeof code === 'number' ? code : -1, stdout, stderr: `${stderr}` };
  }
}

async function succeed(...asked: Parameters<typeof run>): Promise<string> {
  const { status, stdout, stderr } = await run(...asked);
  if (status !== 0) throw new Error(`${asked[1].join(' ')} ended with ${status}: ${stderr}`);
  return stdout;
}

/** Downloaded once. */
export async function nodeOf(version: string): Promise<string> {
  const prefix = join(CACHE, version);
  const name = `node-${process.platform}-${process.arch}`;
  const program = join(prefix, 'node_modules', name, 'bin/node');
  if (!existsSync(program)) {
    mkdirSync(prefix, { recursive: true });
    writeFileSync(join(prefix, 'package.json'), '{}');
    const words = [npm(), 'install', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`];
    await succeed(process.execPath, words, { cwd: prefix, env: { ...registryEnvironment(), HOME: prefix } });
  }
  return program;
}

export async function packed(): Promise<string> {
  const directory = emptyDirectory();
  const words = [npm(), 'pack', '--ignore-scripts', '--pack-destination', directory];
  await succeed(process.execPath, words, { cwd: process.cwd(), env: { HOME: directory } });
  const [file = ''] = readdirSync(directory).filter((name) => name.endsWith('.tgz'));
  return join(directory, file);
}

export interface Installed {
  readonly home: string;
  readonly modules: string;
  readonly said: string;
  readonly status: number;
  readonly seconds: number;
  /** Environment of a command: one Node, and the packages installed with it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Installs globally as in an empty container: no cache, no settings, one Node and no other program. */
export async function installed(file: string, node: string): Promise<Installed> {
  const home = emptyDirectory();
  const bin = join(home, 'bin');
  const prefix = join(home, 'prefix');
  mkdirSync(bin);
  symlinkSync(node, join(bin, 'node'));
  const started = performance.now();
  const quiet = { npm_config_update_notifier: 'false', npm_config_fund: 'false' };
  const { status, stdout, stderr } = await run(
    join(bin, 'node'),
    [npm(), 'install', '-g', '--prefix', prefix, file],
    { cwd: home, env: { ...registryEnvironment(), ...quiet, HOME: home, PATH: bin } },
  );
  return {
    home,
    modules: join(prefix, 'lib/node_modules'),
    said: `${stdout}${stderr}`,
    status,
    seconds: (performance.now() - started) / 1_000,
    env: { HOME: home, PATH: `${bin}:${join(prefix, 'bin')}` },
  };
}
