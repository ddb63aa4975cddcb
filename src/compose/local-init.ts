/**
 * `flywheel local init`: sets a project up in its data directory, and writes the configuration last, because every other command waits
 * for it. The file `init.tmp` marks an unfinished set-up, which is repeated from the start; it becomes the configuration.
 */
import { generateKeypair } from '../chain/transaction/sign.js';
import type { LocalInitInput } from '../contract/admin.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { makePrivateDirectory } from '../files/write-file.js';
import type { Clock } from '../values/time.js';
import { setUpDataDirectory } from './data-lock.js';
import { createFileKeyring } from './keyring.js';
import {
  clearUnfinished,
  dataFiles,
  exists,
  finishLocalConfig,
  isOnCluster,
  type LocalConfig,
  readDataConfig,
  readOwner,
  writePrivate,
} from './local-config.js';
import { openLedgerEngine } from './open-engine.js';
import { whileOpen } from './opened.js';
import { readSquadsProgram } from './squads-program.js';

/** Sets up a data directory; waits for another process that does. @throws `ERR_LOCAL_ALREADY_EXISTS` if it has a project by then */
export async function initLocal(dataDir: string, clock: Clock, input: LocalInitInput) {
  requireNone(dataDir);
  makePrivateDirectory(dataDir, 'ERR_STORE_UNAVAILABLE');
  return whileOpen(async (opened) => {
    opened.keep(await setUpDataDirectory(dataFiles(dataDir).lock));
    requireNone(dataDir);
    begin(dataDir);
    const { config, registration, apiKey } = await setUp(dataDir, clock, input);
    finishLocalConfig(dataDir, config);
    const { name: _name, symbol: _symbol, tokenGeneration: _generation, owner, ...shown } = registration;
    return { ...shown, owner: { address: owner, keypair: config.ownerKeypair }, apiKey };
  });
}

/** @throws `ERR_LOCAL_ALREADY_EXISTS` for a directory with a project, or with an unfinished registration on a cluster */
function requireNone(dataDir: string): void {
  const config = readDataConfig(dataDir);
  const elsewhere = { hint: 'Use another directory: --data-dir.' };
  if (config !== undefined)
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `${dataDir} already has a project. Nothing was changed.`,
      isOnCluster(config) ? elsewhere : {},
    );
  if (exists(dataFiles(dataDir).registration))
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `A registration on a cluster was started in ${dataDir}.`,
      elsewhere,
    );
}

/** Databases without the mark of an interrupted set-up belong to a project that lost its configuration. */
function begin(dataDir: string): void {
  clearUnfinished(dataDir);
  const { unfinished, store, ledger } = dataFiles(dataDir);
  const lost = [store, ledger].find(exists);
  if (lost !== undefined)
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `${lost} exists, but local.json is missing. Nothing was changed.`,
      { hint: 'Restore local.json from a backup, or use another directory: --data-dir.' },
    );
  writePrivate(unfinished, '');
}

async function setUp(dataDir: string, clock: Clock, input: LocalInitInput) {
  const files = dataFiles(dataDir);
  if (input.squadsProgram !== null) writePrivate(files.squadsProgram, readSquadsProgram(input.squadsProgram));
  // An existing owner key is kept: it may hold funds elsewhere.
  if (input.owner === null && !exists(files.owner)) writePrivate(files.owner, keypairText(generateKeypair()));
  const owner = input.owner?.address ?? readOwner(files.owner).address;
  const treasury = createFileKeyring(files.keys).create().address;
  const squadsProgram = input.squadsProgram !== null;
  const terms = { treasury, squadsProgram, genesis: null };
  return whileOpen(async (opened) => {
    const { engine, network } = opened.keep(await openLedgerEngine(dataDir, terms, { clock }));
    const { registration, apiKey } = await engine.register({ ...input, owner });
    writePrivate(files.apiKey, `${apiKey.key}\n`);
    const ownerKeypair = input.owner?.keypair ?? files.owner;
    const config: LocalConfig = { treasury, ownerKeypair, squadsProgram, genesis: network.genesisHash };
    return { config, registration, apiKey };
  });
}
