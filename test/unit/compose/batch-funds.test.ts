/** How much SOL batches may take: set by `local init`, and held by whatever opens the flywheel. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/cli/config/settings.js';
import { openEmbeddedService } from '../../../src/compose/embedded-service.js';
import { createLocalAdmin } from '../../../src/compose/local-admin.js';
import { dataFiles, readApiKey, readLocalConfig } from '../../../src/compose/local-config.js';
import { startServerOverEngine } from '../../../src/compose/server.js';
import type { BatchFunds } from '../../../src/contract/admin.js';
import { API_KEY_HEADER, MAX_BODY_BYTES } from '../../../src/contract/index.js';
import type { Service } from '../../../src/contract/service.js';
import { systemClock } from '../../../src/values/time.js';
import { aPipeline, burnAction, REGISTER_DEFAULTS } from '../../support/engine.js';
import { remoteClient } from '../../support/http.js';
import { testCli } from '../../support/in-process.js';
import { emptyDirectory } from '../../support/spawn.js';

let directory: string;
let dataDir: string;
beforeEach(() => {
  directory = emptyDirectory();
  dataDir = join(directory, 'data');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const by = <Value>(value: Value) => ({ value, source: 'default' as const });
const settings = (): Settings => ({
  output: 'json',
  messages: 'json',
  quiet: true,
  verbose: false,
  debug: false,
  noInput: true,
  yes: false,
  profile: by(null),
  apiUrl: by(null),
  apiKeyHeader: by(API_KEY_HEADER),
  apiKey: by(null),
  configDir: by(directory),
  database: by(null),
  databasePool: by(10),
  project: by(null),
  dataDir: by(dataDir),
  rpcUrl: by([]),
  rpcQuorum: by(1),
  maxPriorityFee: by(50_000),
  commitment: by('confirmed' as const),
  timeoutSeconds: by(null),
  waitSeconds: by(10),
  maxWaitSeconds: by(1),
  keypair: by(null),
  pinned: by(null),
  signers: { operator: { value: null, source: 'default' }, burnWallet: { value: null, source: 'default' } },
  limits: [],
});
const ambient = () => ({ ...testCli().context, clock: systemClock });

async function localInit(funds: BatchFunds): Promise<void> {
  const local = createLocalAdmin({
    ...{ dataDir, cwd: directory, clock: systemClock },
    openRpc: async () => null,
    openOnCluster: () => Promise.reject(new Error('Not on a cluster.')),
  });
  try {
    await local.init({ ...REGISTER_DEFAULTS, owner: null, squadsProgram: null, ...funds });
  } finally {
    await local.close();
  }
}

const ask = (service: Service) =>
  service
    .initBatch({ pipelines: [aPipeline([burnAction(1)])] }, { credential: readApiKey(dataDir) })
    .then(({ value }) => value.batch.status)
    .catch((error: Error) => error.message);

async function embedded(): Promise<string> {
  const opened = await openEmbeddedService(ambient(), settings());
  try {
    return await ask(opened.service);
  } finally {
    await opened.close();
  }
}

async function served(): Promise<string> {
  const options = { host: '127.0.0.1', port: 0, logLevel: 'silent', maxBodyBytes: MAX_BODY_BYTES } as const;
  const server = await startServerOverEngine(ambient(), settings(), {
    ...options,
    metricsToken: null,
    shutdownGraceMs: 1_000,
    rates: {},
    keyRates: {},
    corsOrigins: [],
    bearer: false,
  });
  try {
    return await ask(remoteClient(server.url).service);
  } finally {
    await server.close();
  }
}

const RENT_REFUSED = /waiting batches hold 0 SOL of rent, .* and at most 0\.001 SOL may wait\.$/;
const OPERATOR_REFUSED =
  /the operator \S+ holds \S+ SOL, 20\.00\d+ SOL are needed: .* and the rest must be left/;

describe('the SOL that batches may take', () => {
  it('is what local init was given, for the command line and for the server', async () => {
    await localInit({ maxBatchRent: 1_000_000n });
    expect(await embedded()).toMatch(RENT_REFUSED);
    expect(await served()).toMatch(RENT_REFUSED);
  });

  it('is what is left to the operator, too', async () => {
    await localInit({ minOperatorSol: 20_000_000_000n });
    expect(await embedded()).toMatch(OPERATOR_REFUSED);
    expect(await served()).toMatch(OPERATOR_REFUSED);
  });

  it('is that of the contract unless something else was asked for', async () => {
    await localInit({});
    expect(readFileSync(dataFiles(dataDir).config, 'utf8')).not.toMatch(/minOperatorSol|maxBatchRent/);
    expect(await embedded()).toBe('FINALIZED');
  });

  it.each([{ minOperatorSol: -1n }, { maxBatchRent: 2n ** 64n }])(
    'is refused before anything is made when it is no amount: %o',
    async (funds) => {
      await expect(localInit(funds)).rejects.toMatchObject({
        code: 'ERR_CONFIG_INVALID',
        message: expect.stringMatching(/^Expected \w+ to be between 0 and \d+ lamports, got /),
      });
      expect(readLocalConfig(dataDir)).toBeUndefined();
    },
  );

  it('is not guessed when local.json was damaged', async () => {
    await localInit({ maxBatchRent: 7n });
    expect(readLocalConfig(dataDir)).toMatchObject({ maxBatchRent: 7n });
    const { config } = dataFiles(dataDir);
    writeFileSync(config, readFileSync(config, 'utf8').replace('"7"', '"-7"'));
    expect(() => readLocalConfig(dataDir)).toThrow(
      expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }),
    );
  });
});
