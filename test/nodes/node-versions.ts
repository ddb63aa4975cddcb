/** Other versions of node, from its packages in the registry; and the packed program, installed with one where nothing else is. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { emptyDirectory } from '../support/spawn.js';

/** The oldest that is supported, a late version of the two after it, and of the next. */
export const NODE_VERSIONS = ['20.18.0', '22.23.3', '24.21.0', '26.10.0'] as const;

const CACHE = resolve('node_modules/.cache/node-versions');

/** Of this process's environment, what it takes to reach the registry. */
const REACHING_THE_REGISTRY = ['NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'NO_PROXY', 'npm_config_registry'];

const registryEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    REACHING_THE_REGISTRY.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** The npm that runs this, or that of this node. */
const npm = (): string =>
  process.env['npm_execpath'] ??
  join(dirname(realpathSync(process.execPath)), '../lib/node_modules/npm/bin/npm-cli.js');

export interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; how it ends is for the caller to judge. */
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

/** The program of a version of node; taken from the registry once. */
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

/** Packs the present build. */
export async function packed(): Promise<string> {
  const directory = emptyDirectory();
  const words = [npm(), 'pack', '--ignore-scripts', '--pack-destination', directory];
  await succeed(process.execPath, words, { cwd: process.cwd(), env: { HOME: directory } });
  const [file = ''] = readdirSync(directory).filter((name) => name.endsWith('.tgz'));
  return join(directory, file);
}

export interface Installed {
  /** An empty directory; the program's user lives here. */
  readonly home: string;
  /** Where its packages lie. */
  readonly modules: string;
  /** All that npm said. */
  readonly said: string;
  readonly status: number;
  readonly seconds: number;
  /** What a command has of an environment: one node, and what was installed with it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Installs a packed file for everybody, as an empty container would: no cache, no settings, one node and no other program. */
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
