import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type GlobalFlags, resolveSettings } from '../../../src/cli/config/resolve.js';
import type { CliContext } from '../../../src/cli/context.js';
import { openEmbeddedService } from '../../../src/compose/embedded-service.js';
import { createLocalAdmin } from '../../../src/compose/local-admin.js';
import { dataFiles, requireDataConfig, writeLocalConfig } from '../../../src/compose/local-config.js';
import { effectiveSettings } from '../../../src/compose/rpc.js';
import { openServer } from '../../../src/compose/server.js';
import { Secret } from '../../../src/values/secret.js';
import { systemClock } from '../../../src/values/time.js';
import { aBurnRequest } from '../../support/engine.js';
import { testCli } from '../../support/in-process.js';
import { failureOf } from '../../support/service.js';
import { emptyDirectory } from '../../support/spawn.js';
import { rawSqlite } from '../../support/store.js';
import { projectOnCluster } from '../../test-cluster/directory.js';
import { startTestNode } from '../../test-cluster/node.js';

const SLOTS = { pace: 'clock', slotMs: 20, confirmedAfter: 1, finalizedAfter: 4 } as const;

let on: Awaited<ReturnType<typeof projectOnCluster>>;

beforeEach(async () => {
  on = await projectOnCluster();
});
afterEach(() => on.close());

const ambientWith = (env: Record<string, string> = {}): CliContext => ({
  ...testCli({ env }).context,
  clock: systemClock,
  sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
});

function open(flags: Partial<GlobalFlags> = {}, env: Record<string, string> = {}) {
  const ambient = ambientWith(env);
  return openEmbeddedService(
    ambient,
    resolveSettings(ambient, { dataDir: on.dataDir, local: true, ...flags }),
  );
}

const SERVER: Parameters<typeof openServer>[2] = {
  ...{ keyRates: {}, rates: {}, bearer: false, metricsToken: null },
  ...{ logLevel: 'silent' },
};

describe('a data directory on a cluster', () => {
  it('names its nodes to those who ask for the settings, unless others are named', () => {
    const settings = (flags: { rpcUrl?: string[] }, env: Record<string, string> = {}) => {
      const ambient = ambientWith(env);
      const { rpcUrl } = effectiveSettings(resolveSettings(ambient, { dataDir: on.dataDir, ...flags }));
      return { urls: rpcUrl.value.map(({ given }) => given), source: rpcUrl.source };
    };
    expect(settings({})).toEqual({ urls: [on.node.url], source: 'data directory' });
    expect(settings({ rpcUrl: ['devnet'] })).toEqual({ urls: ['devnet'], source: 'flag' });
    expect(settings({}, { FLYWHEEL_RPC_URL: 'testnet' })).toEqual({
      urls: ['testnet'],
      source: 'environment',
    });
    expect(() => settings({}, { FLYWHEEL_RPC_URL: 'nowhere' })).toThrow(
      expect.objectContaining({ code: 'ERR_CONFIG_INVALID' }),
    );
  });

  it('says how transactions are sent, unless that was said for this run', () => {
    const config = requireDataConfig(on.dataDir);
    if (!('cluster' in config)) throw new TypeError('Not on a cluster.');
    const directory = emptyDirectory();
    const sending = { maxPriorityFee: 7, commitment: 'finalized' } as const;
    writeLocalConfig(directory, { ...config, cluster: { ...config.cluster, ...sending } });
    const settings = (flags: object, env: Record<string, string> = {}) => {
      const ambient = ambientWith(env);
      const resolved = resolveSettings(ambient, { dataDir: directory, ...flags });
      const { maxPriorityFee, commitment } = effectiveSettings(resolved);
      return [maxPriorityFee.value, commitment.value, commitment.source];
    };
    expect(settings({})).toEqual([7, 'finalized', 'data directory']);
    expect(settings({ maxPriorityFee: '8', commitment: 'confirmed' })).toEqual([8, 'confirmed', 'flag']);
    expect(settings({}, { FLYWHEEL_MAX_PRIORITY_FEE: '9' })).toEqual([9, 'finalized', 'data directory']);
    const { config: file } = dataFiles(directory);
    writeFileSync(file, readFileSync(file, 'utf8').replace('finalized', 'soon'));
    expect(() => settings({})).toThrow(expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }));
  });

  it('refuses nodes of another cluster before anything is stored or sent, naming both', async () => {
    const other = await startTestNode(SLOTS);
    const opened = await open({ rpcUrl: [other.url] });
    const before = await on.test.store.progress();
    const failure = await failureOf(
      opened.service.burn(aBurnRequest(3), {
        credential: new Secret(on.test.project.key.reveal()),
        idempotencyKey: 'one',
      }),
    );
    const config = requireDataConfig(on.dataDir);
    const expected = 'cluster' in config ? config.cluster.genesisHash : '';
    expect(failure.code).toBe('ERR_CHAIN_MISMATCH');
    expect(failure.message).toContain(expected);
    expect(failure.message).toMatch(/belongs? to another cluster \(genesis \w+\), expected/);
    expect(await on.test.store.progress()).toEqual(before);
    const ambient = ambientWith();
    const settings = resolveSettings(ambient, { dataDir: on.dataDir, rpcUrl: [other.url] });
    expect(await failureOf(openServer(ambient, settings, SERVER))).toMatchObject({
      code: 'ERR_CHAIN_MISMATCH',
    });
    await opened.close();
  });

  it('refuses a cluster that has no such mint', async () => {
    const { multisig } = on.test.project.registration;
    rawSqlite(dataFiles(on.dataDir).store, `update projects set mint_address = '${multisig}'`);
    const opened = await open();
    expect(
      await failureOf(
        opened.service
          .currentBatch({ credential: new Secret(on.test.project.key.reveal()) })
          .then(() => opened.chain?.latestBlockhash() ?? null),
      ),
    ).toMatchObject({
      code: 'ERR_CHAIN_MISMATCH',
      message: expect.stringContaining(`The account ${multisig} of this project is not a mint`),
    });
    await opened.close();
  });

  it('is served while no node answers, which a line of the log says that names its server and time like every other', async () => {
    await on.node.close();
    const said: string[] = [];
    const ambient = ambientWith();
    const io = { ...ambient.io, stderr: { write: (text: string) => void said.push(text) } };
    const settings = resolveSettings(ambient, { dataDir: on.dataDir, maxWaitSeconds: '0' });
    const start = async (logLevel: 'error' | 'warn') => {
      said.length = 0;
      await (await openServer({ ...ambient, io }, settings, { ...SERVER, logLevel })).close();
      return said.map((line) => JSON.parse(line));
    };
    expect(await start('error')).toEqual([]);
    const lines = await start('warn');
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: expect.stringContaining('is ready once a node answers') }),
    );
    const named = {
      level: 'warn',
      server: expect.stringMatching(/\/\d+$/),
      time: expect.stringMatching(/Z$/),
    };
    for (const line of lines) expect(line).toMatchObject(named);
  });

  it('opens while no node answers, and checks as soon as one does', async () => {
    const port = Number(new URL(on.node.url).port);
    await on.node.close();
    const opened = await open({ maxWaitSeconds: '0' });
    const call = { credential: new Secret(on.test.project.key.reveal()), idempotencyKey: 'one' };
    expect((await failureOf(opened.service.burn(aBurnRequest(3), call))).code).toBe('ERR_UNAVAILABLE');
    await startTestNode({ directory: on.test.dataDir, isDataDirectory: true, port, ...SLOTS });
    expect((await opened.service.burn(aBurnRequest(3), call)).value.result).toBe('SUCCESS');
    expect(await opened.walletChain()).toBe('solana:localnet');
    expect(opened.pins?.multisig).toBe(on.test.project.registration.multisig);
    await opened.close();
  });

  it('is wiped by nobody and is no local ledger, but shows its status and makes keys', async () => {
    const ambient = ambientWith();
    const local = createLocalAdmin(ambient, resolveSettings(ambient, { dataDir: on.dataDir }));
    const owner = { address: on.test.project.registration.owner, keypair: null };
    expect(await local.status()).toMatchObject({ owner, usedToday: { burn: '0' } });
    expect((await local.createKey({ scopes: ['burn'], proofTypes: null })).scopes).toEqual(['burn']);
    expect(await local.listKeys()).toHaveLength(2);
    await local.close();
    for (const refused of [local.fund({ to: 'vault', sol: '1' }), local.reset()])
      expect((await failureOf(refused)).code).toBe('ERR_USAGE');
    expect(existsSync(dataFiles(on.dataDir).store)).toBe(true);
  });
});
