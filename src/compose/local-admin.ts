/** `flywheel local …`: sets up a data directory in one step and looks after it. */

import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Chain } from '../chain/chain.js';
import { clusterName } from '../chain/node-address.js';
import { createKeypairSigner, generateKeypair } from '../chain/transaction/signer.js';
import type {
  FetchedProgram,
  LocalAdmin,
  LocalInitInput,
  LocalInitResult,
  LocalVaultResult,
} from '../cli/context.js';
import type { ApiKeyCreated, Registration } from '../contract/admin.js';
import { FlywheelError, invariant, isFlywheelError } from '../errors/flywheel-error.js';
import { keypairText, parseKeypairText } from '../files/keypair-file.js';
import { fileProblem } from '../files/read-file.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';
import type { Address } from '../values/address.js';
import type { Clock } from '../values/time.js';
import { chosenFunds } from './batch-funds.js';
import { ownDataDirectory } from './data-lock.js';
import { type OpenedEngine, openEngine, openFiles, readSquadsProgram } from './engine.js';
import { fetchSquads } from './fetch-squads.js';
import { createFileKeyring } from './file-keyring.js';
import { gapOfEngine, gapOfLedger, type LedgerPlace } from './gaps.js';
import {
  type ClusterConfig,
  type DataConfig,
  dataFiles,
  exists,
  isOnCluster,
  type LocalConfig,
  PRIVATE_FILE_MODE,
  readDataConfig,
  requireDataConfig,
  requireLocalConfig,
  wipeDataDirectory,
  writeLocalConfig,
  writePrivate,
} from './local-config.js';
import { rotateKeyInFile } from './rotate-key.js';
import type { OwnRpc } from './rpc.js';
import { repair } from './two-files.js';

/** @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content. */
export function readOwnerKeypair(path: string): { readonly bytes: Uint8Array; readonly address: Address } {
  const refuse = (reason: string): FlywheelError =>
    new FlywheelError('ERR_KEYPAIR_INVALID', `${path}: ${reason}.`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw refuse(fileProblem(error));
  }
  const parsed = parseKeypairText(text);
  if ('problem' in parsed) throw refuse('it is no keypair file');
  return { bytes: parsed.bytes, address: createKeypairSigner(parsed.bytes).address };
}

export interface LocalPlace {
  readonly dataDir: string;
  readonly cwd: string;
  readonly clock: Clock;
  /** The cluster of the user's own node; `null` where none is named. */
  readonly openRpc: () => Promise<OwnRpc | null>;
  /** Opens the engine of a data directory that is on a cluster. */
  readonly openOnCluster: (config: ClusterConfig) => Promise<OpenedEngine<Chain>>;
  /** Moves all of the store, which is not open then. @default it is not moved */
  readonly moves?: Pick<LocalAdmin, 'exportStore' | 'importStore'>;
  /** Opens that of a database, for what is about any flywheel; `null` where none is named. @default none is */
  readonly openInDatabase?: () => Promise<OpenedEngine<Chain> | null>;
  /** File of the API key that commands of this machine use. @default that of the data directory */
  readonly ownKeyFile?: (opened: OpenedEngine<Chain>) => Promise<string>;
}

/** What can be done with the flywheel of a data directory; the engine is opened when it is first needed. */
export function createLocalAdmin(place: LocalPlace): LocalAdmin {
  const { dataDir, clock } = place;
  let opened: Promise<OpenedEngine<Chain>> | undefined;
  const open = (): Promise<OpenedEngine<Chain>> => {
    const config = requireDataConfig(dataDir);
    opened ??= isOnCluster(config) ? place.openOnCluster(config) : openEngine(dataDir, config, { clock });
    return opened;
  };
  const openAny = async (): Promise<OpenedEngine<Chain>> => {
    if (opened !== undefined) return opened;
    const elsewhere = await place.openInDatabase?.();
    if (elsewhere == null) return open();
    opened = Promise.resolve(elsewhere);
    return elsewhere;
  };
  const engine = async () => (await open()).engine;
  const close = async (): Promise<void> => {
    const closing = opened;
    opened = undefined;
    await closing?.then((it) => it.close());
  };
  return {
    init: (input) => init(place, input, open),
    status: async () => {
      const { name, symbol, ...status } = await (await engine()).status();
      const { tokenGeneration: _generation, owner: address, ...rest } = status;
      const config = requireDataConfig(dataDir);
      const keypair = isOnCluster(config) ? null : config.ownerKeypair;
      return { ...rest, name, symbol, owner: { address, keypair } };
    },
    vault: async () => vaultOf(await openAny()),
    fund: async (input) => {
      requireLocalConfig(dataDir);
      return (await engine()).fund(input);
    },
    repair: () => repairFiles(place),
    fetchSquads: () => fetchFromCluster(place),
    reset: async () => {
      await close();
      refuseWipe(dataDir);
      const lock = await ownDataDirectory(dataFiles(dataDir).lock);
      try {
        wipeDataDirectory(dataDir);
      } finally {
        lock.release();
      }
    },
    createKey: async (input) => (await openAny()).engine.createKey(input),
    listKeys: async () => (await openAny()).engine.listKeys(),
    revokeKey: async (id) => (await openAny()).engine.revokeKey(id),
    rotateKey: async (input) => {
      const it = await openAny();
      return rotateKeyInFile(dataDir, it.engine, input, await place.ownKeyFile?.(it));
    },
    exportStore: (file) => movesOf(place).exportStore(file),
    importStore: (file) => movesOf(place).importStore(file),
    gap: async () => {
      const ledger = ledgerOf(place);
      return ledger === null ? gapOfEngine(await openAny()) : gapOfLedger(ledger);
    },
    acceptGap: async (transactions) => {
      const ledger = ledgerOf(place);
      if (ledger === null) await (await openAny()).engine.gaps.accept(transactions);
      else await gapOfLedger(ledger, transactions);
    },
    audit: async (query) => (await openAny()).engine.audit(query),
    exportOwner: async (outFile) => exportOwner(place, outFile),
    close,
  };
}

function movesOf({ moves }: LocalPlace): NonNullable<LocalPlace['moves']> {
  invariant(moves !== undefined, 'Nobody says how the store is moved.');
  return moves;
}

/** `null` where the flywheel is on a cluster. */
function ledgerOf({ dataDir, clock }: LocalPlace): LedgerPlace | null {
  const config = readDataConfig(dataDir);
  return config === undefined || isOnCluster(config) ? null : { dataDir, config, clock };
}

async function vaultOf({ engine, store, chain }: OpenedEngine<Chain>): Promise<LocalVaultResult> {
  const { genesis } = await store.progress();
  // A local ledger is never waited for.
  const cluster =
    chain.pollMs === null || genesis === null ? null : { name: clusterName(genesis), genesisHash: genesis };
  return { cluster, ...(await engine.vault()) };
}

/** The keys of a flywheel on a cluster move what lies there: they are not wiped with a word. */
function refuseWipe(dataDir: string): void {
  if (!isOnCluster(requireDataConfig(dataDir))) return;
  throw new FlywheelError(
    'ERR_USAGE',
    `The flywheel in ${dataDir} is on a cluster: its keys are the operator's and the burn wallet's, and what they hold would be lost with them. Nothing was removed.`,
    {
      hint: 'See that nothing is pending (`flywheel pending`, `flywheel batch list`), move what the keys hold, then remove the directory yourself.',
    },
  );
}

async function fetchFromCluster({ dataDir, openRpc }: LocalPlace): Promise<FetchedProgram> {
  const rpc = await openRpc();
  try {
    return await fetchSquads(dataDir, () => {
      if (rpc !== null) return rpc.reader;
      throw new FlywheelError('ERR_USAGE', 'No RPC node is named that the program could be taken from.', {
        hint: 'Name one with --rpc-url mainnet, or FLYWHEEL_RPC_URL.',
      });
    });
  } finally {
    await rpc?.close();
  }
}

async function repairFiles({ dataDir, clock }: LocalPlace): Promise<string> {
  const config = requireLocalConfig(dataDir);
  const { store, chain, close } = await openFiles(dataDir, config, clock);
  try {
    return await repair(store, chain, config.genesis);
  } finally {
    await close();
  }
}

async function init(
  place: LocalPlace,
  input: LocalInitInput,
  open: () => Promise<OpenedEngine<Chain>>,
): Promise<LocalInitResult> {
  const { dataDir } = place;
  const config = prepare(place, input);
  const { engine, store } = await open();
  const keypair = config.ownerKeypair;
  const owner = input.owner?.address ?? readOwnerKeypair(keypair).address;
  const registered = await registerOrFinish(dataDir, { ...input, owner }, engine);
  const { genesis } = await store.progress();
  // From here on nothing that is missing is made again.
  writeLocalConfig(dataDir, { ...config, genesis });
  return initResult(registered.registration, registered.apiKey, keypair);
}

/** Files that must be there before the engine opens. An interrupted set-up is carried on; a finished one is refused. */
function prepare({ dataDir, cwd }: LocalPlace, input: LocalInitInput): LocalConfig {
  const files = dataFiles(dataDir);
  const funds = chosenFunds(input);
  const found = readDataConfig(dataDir);
  const earlier = found === undefined ? undefined : requireUnfinished(dataDir, found);
  if (exists(files.registration))
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `A registration on a cluster has begun in ${dataDir}.`,
    );
  makeDataDirectory(dataDir);
  if (input.squadsProgram !== null)
    writePrivate(files.squadsProgram, readSquadsProgram(resolve(cwd, input.squadsProgram)));
  if (input.owner === null && !exists(files.owner)) writePrivate(files.owner, keypairText(generateKeypair()));
  const config: LocalConfig = {
    treasury: earlier?.treasury ?? createFileKeyring(files.keys).create().address,
    ownerKeypair: input.owner === null ? files.owner : absolute(cwd, input.owner.keypair),
    squadsProgram: input.squadsProgram !== null,
    genesis: null,
    ...funds,
  };
  // Once its engine is open, an interrupted set-up goes on with the choices that it began with.
  if (earlier === undefined) writeLocalConfig(dataDir, config);
  return earlier ?? config;
}

/** @throws `ERR_LOCAL_ALREADY_EXISTS` unless the set-up was interrupted; what is wrong with a finished one is not mended here. */
function requireUnfinished(dataDir: string, config: DataConfig): LocalConfig {
  if (!isOnCluster(config) && config.genesis === null) return config;
  throw new FlywheelError(
    'ERR_LOCAL_ALREADY_EXISTS',
    `${dataDir} already holds a flywheel; nothing was changed.`,
  );
}

const notFound = (error: unknown): undefined => {
  if (isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) return undefined;
  throw error;
};

/** Registers; or, when that was done and the key was lost in a crash, makes another key. */
async function registerOrFinish(
  dataDir: string,
  input: Omit<LocalInitInput, 'owner'> & { readonly owner: string },
  engine: OpenedEngine<Chain>['engine'],
): Promise<{ registration: Registration; apiKey: ApiKeyCreated }> {
  const earlier = await engine.registration().catch(notFound);
  const registered =
    earlier === undefined
      ? await engine.register(input)
      : { registration: earlier, apiKey: await engine.createKey({ scopes: input.scopes, proofTypes: null }) };
  writePrivate(dataFiles(dataDir).apiKey, `${registered.apiKey.key}\n`);
  return registered;
}

function initResult(registration: Registration, apiKey: ApiKeyCreated, keypair: string): LocalInitResult {
  const { tokenId, mintAddress, decimals, tokenProgram, flywheelId, multisig, vaultIndex, vaultAddress } =
    registration;
  const { burnWallet, operator, proofTypes, dailyLimits } = registration;
  return {
    tokenId,
    mintAddress,
    decimals,
    tokenProgram,
    flywheelId,
    multisig,
    vaultIndex,
    vaultAddress,
    burnWallet,
    owner: { address: registration.owner, keypair },
    operator,
    apiKey,
    proofTypes,
    dailyLimits,
  };
}

function makeDataDirectory(dataDir: string): void {
  try {
    makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
  } catch (cause) {
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', (cause as Error).message, { cause });
  }
}

const absolute = (cwd: string, path: string): string => (isAbsolute(path) ? path : resolve(cwd, path));

function exportOwner({ dataDir, cwd }: LocalPlace, outFile: string): { address: Address; keypair: string } {
  const { bytes, address } = readOwnerKeypair(requireLocalConfig(dataDir).ownerKeypair);
  const keypair = absolute(cwd, outFile);
  writeFileAtomic(keypair, keypairText(bytes), 'ERR_INPUT_INVALID', {
    mode: PRIVATE_FILE_MODE,
    exclusive: true,
  });
  bytes.fill(0);
  return { address, keypair };
}
