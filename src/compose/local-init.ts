/**
 * `flywheel local init`: prepares a project in a subdirectory, moves it into place when complete, and writes the configuration last.
 * The subdirectory is on the same file system even if the data directory is a mount. An interrupted run is simply repeated.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { generateKeypair } from '../chain/transaction/sign.js';
import type { LocalInitInput } from '../contract/admin.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { loadSqlite } from '../files/sqlite-connection.js';
import { makePrivateDirectory, moveFile } from '../files/write-file.js';
import type { Clock } from '../values/time.js';
import { setUpDataDirectory } from './data-lock.js';
import { createFileKeyring } from './keyring.js';
import {
  dataFiles,
  exists,
  isOnCluster,
  type LocalConfig,
  readDataConfig,
  readOwner,
  writeLocalConfig,
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
    clearUnfinished(dataDir);
    const { config, registration, apiKey } = await setUp(dataDir, clock, input);
    await moveInto(dataDir);
    writeLocalConfig(dataDir, config);
    rmSync(dataFiles(dataDir).unfinished, { recursive: true });
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

/**
 * Removes what an interrupted set-up left. Databases without its subdirectory belong to a project that lost its configuration, and must not
 * be replaced.
 */
function clearUnfinished(dataDir: string): void {
  const { unfinished, store, ledger } = dataFiles(dataDir);
  if (!exists(unfinished)) {
    const lost = [store, ledger].find(exists);
    if (lost !== undefined)
      throw new FlywheelError(
        'ERR_STORE_UNAVAILABLE',
        `${lost} exists, but local.json is missing. Nothing was changed.`,
        { hint: 'Restore local.json from a backup, or use another directory: --data-dir.' },
      );
    makePrivateDirectory(unfinished, 'ERR_STORE_UNAVAILABLE');
  }
  for (const name of readdirSync(unfinished)) rmSync(join(unfinished, name), { recursive: true });
}

async function setUp(dataDir: string, clock: Clock, input: LocalInitInput) {
  const { owner: ownOwner, unfinished } = dataFiles(dataDir);
  const files = dataFiles(unfinished);
  if (input.squadsProgram !== null) writePrivate(files.squadsProgram, readSquadsProgram(input.squadsProgram));
  // An existing owner key is kept: it may hold funds elsewhere.
  const isNew = input.owner === null && !exists(ownOwner);
  if (isNew) writePrivate(files.owner, keypairText(generateKeypair()));
  const owner = input.owner?.address ?? readOwner(isNew ? files.owner : ownOwner).address;
  const treasury = createFileKeyring(files.keys).create().address;
  const squadsProgram = input.squadsProgram !== null;
  const terms = { treasury, squadsProgram, genesis: null };
  return whileOpen(async (opened) => {
    const { engine, network } = opened.keep(await openLedgerEngine(unfinished, terms, { clock }));
    const { registration, apiKey } = await engine.register({ ...input, owner });
    writePrivate(files.apiKey, `${apiKey.key}\n`);
    const ownerKeypair = input.owner?.keypair ?? ownOwner;
    const config: LocalConfig = { treasury, ownerKeypair, squadsProgram, genesis: network.genesisHash };
    return { config, registration, apiKey };
  });
}

/** Merges the WAL into the database file before it moves; the driver does so only when the process ends. */
async function foldLog(path: string): Promise<void> {
  const connect = await loadSqlite({ path, noun: 'database' });
  const connection = connect({ use: 'bare', busyTimeoutMs: 0 });
  connection.prepare('pragma wal_checkpoint(TRUNCATE)').all([]);
  connection.close();
}

/** Replaces files that an interrupted set-up had already moved. */
async function moveInto(dataDir: string): Promise<void> {
  const { unfinished, ...files } = dataFiles(dataDir);
  const { lock, store, ledger, keys: newKeys } = dataFiles(unfinished);
  rmSync(lock, { force: true });
  for (const database of [store, ledger]) {
    await foldLog(database);
    for (const part of ['-wal', '-shm']) rmSync(database + part, { force: true });
  }
  for (const database of [files.store, files.ledger])
    for (const part of ['', '-wal', '-shm']) rmSync(database + part, { force: true });
  makePrivateDirectory(files.keys, 'ERR_STORE_UNAVAILABLE');
  for (const name of readdirSync(newKeys)) moveFile(join(newKeys, name), join(files.keys, name));
  rmSync(newKeys, { recursive: true });
  for (const name of readdirSync(unfinished)) moveFile(join(unfinished, name), join(dataDir, name));
}
