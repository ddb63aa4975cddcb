/** Imports the built library in another program and calls its exports. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { initHome, serve } from '../support/http-serve.js';
import { itLong } from '../support/long.js';

const library = pathToFileURL(resolve('dist/index.js')).href;

async function run(home: string, code: string, env: Readonly<Record<string, string>>): Promise<unknown> {
  const file = join(home, 'program.mjs');
  writeFileSync(
    file,
    `import { createRemoteService, openEngine, randomIds, readLocalConfig, Secret, systemClock } from ${JSON.stringify(library)};\n${code}`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [file], { env: { ...process.env, ...env } });
  return JSON.parse(stdout);
}

const BURN = `{ type: 'PRODUCT_BUY', proof: { order: 'A-1' }, burnAmount: 2, persistOnchain: false }`;

describe('the library', () => {
  itLong('burns by a service over HTTP', async () => {
    const home = await initHome();
    const server = await serve(home);
    try {
      const code = `
        const service = createRemoteService({
          baseUrl: process.env.URL, clock: systemClock, ids: randomIds, random: Math.random,
        });
        const call = { credential: new Secret(process.env.KEY), idempotencyKey: randomIds.uuid() };
        const { value } = await service.burn(${BURN}, call);
        console.log(JSON.stringify(value));`;
      expect(await run(home.home, code, { URL: server.url, KEY: home.key })).toMatchObject({
        result: 'SUCCESS',
      });
    } finally {
      await server.end('SIGTERM');
    }
  });

  it('burns many by an engine of its own, and ends by itself', async () => {
    const { home, dataDir, key } = await initHome();
    const code = `
      const { engine, close } = await openEngine(process.env.DIR, readLocalConfig(process.env.DIR), { clock: systemClock });
      const call = { credential: new Secret(process.env.KEY), idempotencyKey: randomIds.uuid() };
      const burns = Array.from({ length: 300 }, (_, order) => ({ ...${BURN}, proof: { order } }));
      const { value } = await engine.burnBatch(burns, call);
      await close();
      console.log(JSON.stringify({ success: value.success.length, errors: value.errors.length }));`;
    expect(await run(home, code, { DIR: dataDir, KEY: key })).toEqual({ success: 300, errors: 0 });
  });
});
