/** The packed program, installed in an empty root with each supported Node: no warnings, small, and working. */
import { spawn } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory } from '../support/spawn.js';
import { type Installed, installed, NODE_VERSIONS, nodeOf, packed, run } from './node-versions.js';

const MEBIBYTE = 1_024 * 1_024;
const PIPELINES = JSON.stringify({
  pipelines: [{ type: 'WATCH_AD', payload: { viewId: 7 }, actions: [{ action: 'BURN', amount: 5 }] }],
});
const LINES = [2, 3].map((viewId) =>
  JSON.stringify({ type: 'WATCH_AD', proof: { viewId }, burnAmount: 1, persistOnchain: false }),
);
const LIBRARY = `import { createRemoteService, openEngine, Secret } from 'flywheel';
import { burnRequestSchema } from 'flywheel/contract';
const known = [createRemoteService, openEngine, Secret].every((one) => typeof one === 'function');
console.log(known && burnRequestSchema.safeParse({ type: 1 }).success === false);
`;

const files = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const sizeBytes = (directory: string): number =>
  files(directory).reduce((sum, file) => sum + statSync(file).size, 0);

let tarball = '';
beforeAll(async () => {
  tarball = await packed();
});

const flywheel = ({ home, env }: Installed, words: readonly string[], more: Record<string, string> = {}) =>
  run(join(env['PATH']?.split(':')[1] ?? '', 'flywheel'), words, { cwd: home, env: { ...env, ...more } });

async function done(root: Installed, ...words: readonly string[]): Promise<unknown> {
  const { status, stdout, stderr } = await flywheel(root, words);
  expect({ words, status, stderr }).toEqual({ words, status: 0, stderr });
  // Warnings of Node: deprecations, experimental features, wrong module types.
  expect(stderr).not.toContain('Warning');
  return words[0] === '--version' ? stdout : JSON.parse(stdout);
}

async function whileServing(root: Installed, use: (api: Record<string, string>) => Promise<void>) {
  const [node = '', program = ''] = [
    join(root.env['PATH']?.split(':')[0] ?? '', 'node'),
    join(root.modules, 'flywheel/bin/flywheel.js'),
  ];
  const server = spawn(node, [program, 'serve', '--port', '0', '--json'], { cwd: root.home, env: root.env });
  try {
    const url = await new Promise<string>((listens) => {
      server.stdout.once('data', (line: Buffer) =>
        listens(/http:\/\/[\d.:]+/.exec(line.toString())?.[0] ?? ''),
      );
    });
    const key = readFileSync(join(root.home, '.local/share/flywheel/api-key'), 'utf8').trim();
    await use({ FLYWHEEL_API_URL: url, FLYWHEEL_API_KEY: key });
  } finally {
    const ended = new Promise((resolve) => server.once('close', resolve));
    server.kill('SIGTERM');
    await ended;
  }
}

const BURN = ['burn', '--type', 'WATCH_AD', '--proof', '{"viewId":1}', '--amount', '1', '--yes'];

const TYPED = `import { createRemoteService, openEngine, type LocalConfig, type RemoteServiceDeps, Secret, type Service, systemClock } from 'flywheel';
import { type BurnRequest, burnRequestSchema, type Call } from 'flywheel/contract';
export const burn: BurnRequest = { type: 'T', proof: {}, burnAmount: 1, persistOnchain: false };
const call: Call = { credential: new Secret('key'), idempotencyKey: 'order-1' };
export const remote = (options: RemoteServiceDeps) => createRemoteService(options).burn(burn, call);
export async function use(config: LocalConfig): Promise<string> {
  const { engine, close } = await openEngine('data', config, { clock: systemClock });
  const service: Service = engine;
  const request = burnRequestSchema.parse({});
  const { value } = await service.burn(request, call);
  // @ts-expect-error a type is a text
  const wrong: number = request.type;
  await close();
  return value.txHash + wrong;
}
`;
const STRICT = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  ...{ module: 'nodenext', target: 'es2022', noEmit: true, skipLibCheck: false },
};

it.each([
  ['of the language alone', { lib: ['es2022'], types: [] }],
  ['of the browser', { types: [] }],
  ['of node', { lib: ['es2022'], types: ['node'], typeRoots: [resolve('node_modules/@types')] }],
])('the packed types compile with the libraries %s, all of them checked', async (_what, libraries) => {
  const home = emptyDirectory();
  const modules = join(home, 'node_modules/flywheel');
  mkdirSync(modules, { recursive: true });
  const env = { HOME: home, PATH: process.env['PATH'] ?? '' };
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', modules], { cwd: home, env });
  writeFileSync(join(home, 'user.ts'), TYPED);
  const config = { compilerOptions: { ...STRICT, ...libraries }, include: ['user.ts'] };
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(config));
  const tsc = resolve('node_modules/typescript/bin/tsc');
  expect(await run(process.execPath, [tsc, '-p', '.'], { cwd: home, env })).toEqual({
    status: 0,
    stdout: '',
    stderr: '',
  });
});

describe.each(NODE_VERSIONS)('with node %s, the packed program', (version) => {
  let root: Installed;
  beforeAll(async () => {
    root = await installed(tarball, await nodeOf(version));
  });

  it('installs without a warning, small, and with native packages only', () => {
    expect({ status: root.status, said: root.said.trim() }).toEqual({
      status: 0,
      said: expect.stringMatching(/^added \d packages in \d+m?s$/),
    });
    expect(sizeBytes(root.modules) / MEBIBYTE).toBeLessThan(60);
    const beside = readdirSync(join(root.modules, 'flywheel/node_modules')).filter(
      (name) => !name.startsWith('.'),
    );
    expect(beside.filter((name) => name !== '@libsql' && !name.startsWith('litesvm-'))).toEqual([]);
    process.stdout.write(
      `node ${version}: ${root.seconds.toFixed(1)} s, ${(sizeBytes(root.modules) / MEBIBYTE).toFixed(1)} MiB\n`,
    );
  });

  it('burns, runs a batch, and shows all of it', async () => {
    expect(await done(root, '--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
    await done(root, 'demo', '--json');
    await done(root, 'local', 'init', '--json');
    expect(await done(root, ...BURN, '--json')).toMatchObject({ txHash: expect.any(String) });
    writeFileSync(join(root.home, 'pipelines.json'), PIPELINES);
    await done(root, 'local', 'export-owner', 'owner.json', '--json');
    await done(root, 'batch', 'run', 'pipelines.json', '--keypair', 'owner.json', '--yes', '--json');
    expect(await done(root, 'local', 'status', '--json')).toMatchObject({ burned: '6' });
  });

  it('burns a file line by line, with settings of V8 that this node knows', async () => {
    writeFileSync(join(root.home, 'burns.ndjson'), `${LINES.join('\n')}\n`);
    const burnAll = ['burn-batch', 'burns.ndjson', '--yes', '--output', 'ndjson'];
    const { status, stdout, stderr } = await flywheel(root, burnAll);
    expect({ status, stderr }).toEqual({ status: 0, stderr });
    expect(stderr).not.toMatch(/Warning|unrecognized|--help for options/);
    expect(stdout.trim().split('\n')).toHaveLength(2);
    expect(await done(root, 'local', 'status', '--json')).toMatchObject({ burned: '8' });
  });

  it('serves, and burns through the server', async () => {
    await whileServing(root, async (api) => {
      const { status, stdout, stderr } = await flywheel(root, [...BURN, '--json'], api);
      expect({ status, stderr }).toEqual({ status: 0, stderr });
      expect(JSON.parse(stdout)).toMatchObject({ txHash: expect.any(String) });
    });
    expect(await done(root, 'local', 'status', '--json')).toMatchObject({ burned: '9' });
  });

  it('is a library', async () => {
    writeFileSync(join(root.home, 'library.mjs'), LIBRARY);
    mkdirSync(join(root.home, 'node_modules'));
    symlinkSync(join(root.modules, 'flywheel'), join(root.home, 'node_modules/flywheel'));
    const node = join(root.home, 'bin/node');
    expect(await run(node, ['library.mjs'], { cwd: root.home, env: root.env })).toEqual({
      status: 0,
      stdout: 'true\n',
      stderr: '',
    });
  });
});

describe('where a native package is missing', () => {
  let root: Installed;
  beforeAll(async () => {
    root = await installed(tarball, process.execPath);
    mkdirSync(join(root.home, 'away'));
    await done(root, 'local', 'init', '--json');
  });
  const native = (name: RegExp): readonly string[] => {
    const beside = join(root.modules, 'flywheel/node_modules');
    return [...readdirSync(beside), ...readdirSync(join(beside, '@libsql')).map((one) => `@libsql/${one}`)]
      .filter((one) => name.test(one))
      .map((one) => join(beside, one));
  };
  const without = async (name: RegExp, use: () => Promise<void>) => {
    const taken = native(name);
    expect(taken.length).toBeGreaterThan(0);
    for (const path of taken) renameSync(path, join(root.home, 'away', path.split('/').pop() ?? ''));
    try {
      await use();
    } finally {
      for (const path of taken) renameSync(join(root.home, 'away', path.split('/').pop() ?? ''), path);
    }
  };

  it('says what to do without the virtual machine, and works with a server all the same', async () => {
    await whileServing(root, async (api) => {
      // The server loaded its own copy with its first burn.
      expect((await flywheel(root, BURN, api)).status).toBe(0);
      await without(/^litesvm-/, async () => {
        const refused = await flywheel(root, BURN);
        expect(refused.status).toBe(1);
        expect(refused.stderr).toContain('litesvm-linux-');
        expect(refused.stderr).toContain('install again without --omit=optional');
        expect(refused.stderr).toContain('--api-url');
        expect((await flywheel(root, BURN, api)).status).toBe(0);
        expect((await flywheel(root, ['--help'])).status).toBe(0);
      });
    });
  });

  it('says what to do without the database', async () => {
    await without(/^@libsql\//, async () => {
      const refused = await flywheel(root, BURN);
      expect(refused.status).toBe(6);
      expect(refused.stderr).toContain('the SQLite driver for linux x64 is not installed');
      expect(refused.stderr).toContain('Install flywheel again without --omit=optional.');
    });
  });
});
