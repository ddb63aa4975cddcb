/** The samples in TypeScript of the documentation page: they compile, and do what they say, one after the other. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { sampleDirectory, samplesOf, walkThrough } from '../support/docs-samples.js';
import { OPERATION_LIST } from '../support/http.js';
import { initHome, type ServeProcess, serve } from '../support/http-serve.js';

let server: ServeProcess | undefined;
afterEach(() => server?.end('SIGKILL'));

it('call every operation, and take a batch from its pipelines to its end', async () => {
  const home = await initHome();
  server = await serve(home, '--rate', 'burn=100/s');
  const answers = await walkThrough(home, server, 'typescript');
  expect([...answers.keys()].toSorted()).toEqual(OPERATION_LIST.map(({ id }) => id).toSorted());
  expect(answers.get('executeBatch')).toMatchObject({ result: { total: 1, totalSuccessful: 1 } });
  expect(answers.get('getBatch')).toMatchObject({ status: 'EXECUTED' });
  expect(answers.get('cancelBatch')).toMatchObject({ ownerVoteNeeded: false, batch: { status: 'FAILED' } });
  expect(answers.get('burn')).toMatchObject({ result: 'SUCCESS' });
});

it('are TypeScript in the strictest sense', async () => {
  const home = await initHome();
  server = await serve(home);
  const directory = sampleDirectory();
  const page = await (await fetch(`${server.url}/docs`)).text();
  const files = [...samplesOf(page, 'typescript')].map(([id, sample]) => {
    const file = join(directory, `${id}.mts`);
    writeFileSync(file, sample);
    return file;
  });
  expect(files.length).toBeGreaterThan(OPERATION_LIST.length);
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--types', 'node'];
  const { stdout } = spawnSync(
    process.execPath,
    [resolve('node_modules/typescript/bin/tsc'), ...options, '--module', 'nodenext', ...files],
    { encoding: 'utf8' },
  );
  expect(stdout).toBe('');
});
