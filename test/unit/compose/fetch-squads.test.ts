/** `flywheel local fetch-squads`: calls to nodes, checks of their answers, and stored files. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { SQUADS_PROGRAM } from '../../../src/chain/programs.js';
import type { CliContext } from '../../../src/cli/context.js';
import { createLocalAdmin } from '../../../src/compose/local-admin.js';
import { requireLocalConfig, writeLocalConfig } from '../../../src/compose/local-config.js';
import { addressBytes } from '../../../src/values/address.js';
import { testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';
import { closeStubs, inContext, wireAccount, youngNode } from '../../support/rpc-stub.js';
import { emptyDirectory } from '../../support/spawn.js';

afterEach(closeStubs);

const LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111';
const CODE = namedAddress('program data');

const program = () => Buffer.concat([Buffer.of(2, 0, 0, 0), addressBytes(CODE) as Uint8Array]);
const code = (file: string) => Buffer.concat([Buffer.of(3, 0, 0, 0), Buffer.alloc(41), Buffer.from(file)]);

async function directory(accounts: Readonly<Record<string, unknown>>) {
  const dataDir = emptyDirectory();
  const treasury = namedAddress('treasury');
  writeLocalConfig(dataDir, { treasury, ownerKeypair: '', squadsProgram: false, genesis: 'set up' });
  const node = await youngNode({
    getMultipleAccounts: (asked: readonly string[]) => inContext(asked.map((one) => accounts[one] ?? null)),
  });
  return { dataDir, node, fetchSquads: () => fetchSquads(dataDir, '--rpc-url', node.url) };
}

function fetchSquads(dataDir: string, ...words: readonly string[]) {
  const openLocal: CliContext['openLocal'] = async (settings) => createLocalAdmin(cli.context, settings);
  const cli = testCli({ openers: { openLocal } });
  return cli.run('local', 'fetch-squads', '--data-dir', dataDir, ...words);
}

const failureOf = ({ exit, stderr }: { exit: number; stderr: string }) => {
  const { error, message } = JSON.parse(stderr.trim());
  return { exit, error, message };
};

describe('local fetch-squads', () => {
  it('refuses another program than that of mainnet, by its hash, and keeps nothing', async () => {
    const { dataDir, fetchSquads } = await directory({
      [SQUADS_PROGRAM]: wireAccount(program(), LOADER),
      [CODE]: wireAccount(code('another program'), LOADER),
    });
    expect(failureOf(await fetchSquads())).toEqual({
      exit: 9,
      error: 'ERR_CHAIN_MISMATCH',
      message: expect.stringMatching(/SHA-256 is [0-9a-f]{64}, expected dec8d3e0/),
    });
    expect(existsSync(join(dataDir, 'squads-v4.so'))).toBe(false);
    expect(requireLocalConfig(dataDir).squadsProgram).toBe(false);
  });

  it.each([
    ['there is no such program', {}],
    ['it belongs to another loader', { [SQUADS_PROGRAM]: wireAccount(program(), namedAddress('loader')) }],
    ['it is no program', { [SQUADS_PROGRAM]: wireAccount(code('x'), LOADER) }],
    ['its code is gone', { [SQUADS_PROGRAM]: wireAccount(program(), LOADER) }],
    [
      'its code is none',
      { [SQUADS_PROGRAM]: wireAccount(program(), LOADER), [CODE]: wireAccount(program(), LOADER) },
    ],
  ])('says that the cluster has none where %s', async (_what, accounts) => {
    const { fetchSquads } = await directory(accounts);
    expect(failureOf(await fetchSquads())).toEqual({
      exit: 9,
      error: 'ERR_CHAIN_MISMATCH',
      message: 'This cluster has no Squads program.',
    });
  });

  it('asks nobody where the program is there, and notices when its file is another by now', async () => {
    const { dataDir, node, fetchSquads } = await directory({});
    writeLocalConfig(dataDir, { ...requireLocalConfig(dataDir), squadsProgram: true });
    writeFileSync(join(dataDir, 'squads-v4.so'), 'something else');
    expect(failureOf(await fetchSquads())).toMatchObject({ exit: 2, error: 'ERR_CONFIG_INVALID' });
    expect(node.calls).toEqual([]);
    expect(readFileSync(join(dataDir, 'squads-v4.so'), 'utf8')).toBe('something else');
  });

  it('wants a node to be named, and a flywheel to be there', async () => {
    const { dataDir } = await directory({});
    expect(failureOf(await fetchSquads(dataDir))).toMatchObject({ exit: 2, error: 'ERR_USAGE' });
    expect(failureOf(await fetchSquads(emptyDirectory()))).toMatchObject({ error: 'ERR_LOCAL_NOT_FOUND' });
  });
});
