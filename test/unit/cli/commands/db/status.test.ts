/** `flywheel db status`: everything as JSON, the same in words, and nothing that is secret. */
import { describe, expect, it } from 'vitest';
import type { DatabaseAdmin, DatabaseStatus } from '../../../../../src/cli/database-admin.js';
import { createDatabaseAdmin } from '../../../../../src/compose/database-admin.js';
import { READER } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const STATUS: DatabaseStatus = {
  ...{
    database: 'postgres://db:5432/fly',
    source: 'FLYWHEEL_DATABASE_URL',
    serverVersion: '18.0',
    latencyMs: 1.5,
  },
  schema: { version: 4, needed: 5, upToDate: false },
  chain: { name: 'devnet', genesisHash: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG' },
  projects: { count: 2, first: [{ name: 'fly', symbol: 'FLY', mintAddress: 'Mint1' }] },
  sizes: { bytes: 2_097_152, tables: [{ name: 'burns', rows: 12_000, bytes: 1_048_576 }] },
  connections: { flywheel: 6, all: 8, max: 100 },
  pending: { burns: 1, batches: 0 },
  holders: [{ instance: 'host/1/1', requests: 1, batches: 0 }],
  openGaps: 1,
  heldUntilBlock: '4211',
};

const status = (options: TestCliOptions) =>
  testCli({
    ...options,
    openers: {
      openDatabase: async () => ({ status: async () => STATUS }) as Partial<DatabaseAdmin> as DatabaseAdmin,
    },
  }).run('db', 'status');

describe('db status', () => {
  it('prints all of it', async () => {
    const { exit, stdout } = await status({});
    expect([exit, JSON.parse(stdout)]).toEqual([0, STATUS]);
  });

  it('shows people what to look at', async () => {
    const text = (await status(READER)).stdout.replace(/ +/g, ' ');
    for (const part of [
      'version 4, needed is 5',
      'devnet',
      'fly: FLY Mint1',
      'about 12,000 rows',
      '2.0 MiB',
      'host/1/1',
      'accept-gap',
    ])
      expect(text).toContain(part);
  });

  it('asks for a database', async () => {
    const cli = testCli({});
    const opening = testCli({
      openers: { openDatabase: async (settings) => createDatabaseAdmin(cli.context, settings) },
    });
    const { exit, stderr } = await opening.run('db', 'status', '--json');
    expect([exit, JSON.parse(stderr).error]).toEqual([2, 'ERR_CONFIG_INVALID']);
  });
});
