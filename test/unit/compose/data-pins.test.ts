/** The pins of a data directory are those of its registration; reading them writes nothing. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { resolveSettings } from '../../../src/cli/config/resolve.js';
import { dataFiles } from '../../../src/compose/local-config.js';
import { pinsOfPlace } from '../../../src/compose/project.js';
import { openTestEngine, type TestEngine } from '../../support/engine.js';
import { testCli } from '../../support/in-process.js';
import { emptyDirectory } from '../../support/spawn.js';

const pinsOf = (dataDir: string) => pinsOfPlace(resolveSettings(testCli().context, { dataDir }));

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine();
});
afterEach(() => test.destroy());

it('are what was registered, and only read', async () => {
  const { multisig, owner, operator, vaultIndex, mintAddress } = await test.engine.status();
  await test.close();
  const { store } = dataFiles(test.dataDir);
  const before = readFileSync(store);
  expect(await pinsOf(test.dataDir)).toMatchObject({
    ...{ multisig, owner, operator, vaultIndex, mint: mintAddress },
    facts: expect.any(Object),
  });
  expect(readFileSync(store).equals(before)).toBe(true);
});

it('are none before there is a flywheel, and an error where the store is none', async () => {
  expect(await pinsOf(emptyDirectory())).toBeNull();
  await test.close();
  const { store } = dataFiles(test.dataDir);
  for (const more of ['-wal', '-shm']) rmSync(`${store}${more}`, { force: true });
  writeFileSync(store, 'x'.repeat(4_096));
  await expect(pinsOf(test.dataDir)).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
});
