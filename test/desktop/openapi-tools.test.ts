/** Other tools on the service's OpenAPI document: two linters report nothing, two generators produce a working client. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { initHome, type ServedHome, type ServeProcess, serve } from '../support/http-serve.js';
import { emptyDirectory } from '../support/spawn.js';

const CLIENTS = ['use-openapi-fetch', 'use-swagger-typescript-api'];

const directory = join(emptyDirectory(), 'openapi-tools');
let home: ServedHome;
let server: ServeProcess;
let complaints: unknown;

function inDirectory(program: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: directory, encoding: 'utf8' });
  if (status !== 0) throw new TypeError(`${program} ${words.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

beforeAll(async () => {
  cpSync('test/openapi-tools', directory, { recursive: true });
  inDirectory('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
  home = await initHome();
  server = await serve(home, '--bearer');
  writeFileSync(join(directory, 'openapi.json'), await (await fetch(`${server.url}/openapi.json`)).text());
  complaints = JSON.parse(inDirectory(process.execPath, 'check.mjs'));
});
afterAll(() => server?.end('SIGKILL'));

it('no linter complains', () => {
  expect(complaints).toEqual([]);
});

it('the clients that generators make compile strictly', () => {
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--types', 'node'];
  const files = CLIENTS.map((name) => `${name}.ts`);
  inDirectory(
    process.execPath,
    ...['node_modules/typescript/bin/tsc', ...options, '--module', 'nodenext', ...files],
  );
});

it.each(CLIENTS)('%s works', async (name) => {
  const outfile = join(directory, `${name}.mjs`);
  const entryPoints = [join(directory, `${name}.ts`)];
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm' });
  const variables = { FLYWHEEL_URL: server.url, FLYWHEEL_API_KEY: home.key };
  const printed = execFileSync(process.execPath, [outfile], { env: variables, encoding: 'utf8' });
  expect(JSON.parse(printed)).toEqual([null, 'SUCCESS', 64, 'ERR_BATCH_NOT_FOUND']);
});
