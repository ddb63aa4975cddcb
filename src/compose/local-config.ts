/** The data directory of an embedded engine: which files it holds, and the little that must be known before any is opened. */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { clusterName } from '../chain/node-address.js';
import type { StoredSending } from '../chain/stored-sending.js';
import type { BatchFunds, DataChain } from '../contract/admin.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { APPROVALS_FILE, approvalDirectory, JOURNAL_FILE } from '../files/directories.js';
import { fileProblem, readIfThere } from '../files/read-file.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';
import { type Address, isAddress } from '../values/address.js';
import { Secret } from '../values/secret.js';
import { fundsFromJson, fundsToJson } from './batch-funds.js';

/** What `local.json` says of a flywheel on the embedded ledger. */
export interface LocalConfig extends BatchFunds {
  /** Holds what `local fund` gives out. */
  readonly treasury: Address;
  /** Absolute path of the owner's keypair file. */
  readonly ownerKeypair: string;
  /** Does the real Squads program run in place of the native one? */
  readonly squadsProgram: boolean;
  /** Identity of the ledger, base58. */
  readonly genesis: string;
}

/** The same until the set-up is complete: only until then are missing files made, and only the set-up works with it. */
export interface UnfinishedConfig extends Omit<LocalConfig, 'genesis'> {
  readonly genesis: null;
}

/** A cluster, and what of it a data directory belongs to. */
export interface ClusterPlace {
  /** Base58; nodes of any other cluster are refused. */
  readonly genesisHash: string;
  readonly mint: Address;
  readonly squadsProgram: Address;
  /** Addresses of nodes as they were given, the first choice first; they may hold keys. */
  readonly rpcUrls: readonly string[];
  /** How many of them have to agree. */
  readonly rpcQuorum: number;
  /** How transactions are sent, where it is not as usual. */
  readonly sending?: StoredSending;
  /** Who may act for the flywheel and what its token allows, as it was confirmed at its registration. */
  readonly facts: Readonly<Record<string, string>>;
}

/** What `local.json` says of a flywheel on a cluster. */
export interface ClusterConfig extends BatchFunds {
  readonly cluster: ClusterPlace;
  readonly signers?: StoredSigners;
}

/** Commands of the programs that sign; of what is not named, the key lies in the data directory. */
export interface StoredSigners {
  readonly operator?: string;
  readonly burnWallet?: string;
}

/** What `local.json` says of a flywheel. */
export type DataConfig = LocalConfig | ClusterConfig;

/** What it says, also of one that is not set up yet. */
export type BegunConfig = DataConfig | UnfinishedConfig;

export const isOnCluster = (config: BegunConfig): config is ClusterConfig => 'cluster' in config;

export const isUnfinished = (config: BegunConfig): config is UnfinishedConfig =>
  !isOnCluster(config) && config.genesis === null;

/** Readable by the user only. */
export const PRIVATE_FILE_MODE = 0o600;

const FORMAT_VERSION = 1;

/** Paths inside a data directory. */
export const dataFiles = (dataDir: string) => ({
  config: join(dataDir, 'local.json'),
  registration: join(dataDir, 'registration.json'),
  store: join(dataDir, 'store.db'),
  ledger: join(dataDir, 'ledger.db'),
  keys: join(dataDir, 'keys'),
  apiKey: join(dataDir, 'api-key'),
  owner: join(dataDir, 'owner.json'),
  squadsProgram: join(dataDir, 'squads-v4.so'),
  journal: join(dataDir, JOURNAL_FILE),
  approvalRecord: join(dataDir, APPROVALS_FILE),
  approvals: approvalDirectory(dataDir),
  lock: join(dataDir, 'lock'),
});

/** What a machine keeps of a project of a database. */
export const projectFiles = (dataDir: string, project: string) => ({
  apiKey: join(dataDir, 'api-keys', project),
});

type Json = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === 'string';

function ledgerConfig(value: Json): LocalConfig | UnfinishedConfig | undefined {
  const { treasury, ownerKeypair, genesis } = value;
  if (!isText(treasury) || !isAddress(treasury) || !isText(ownerKeypair)) return undefined;
  const config = { treasury, ownerKeypair, squadsProgram: value['squadsProgram'] === true };
  return isText(genesis) ? { ...config, genesis } : { ...config, genesis: null };
}

function clusterPlace(value: unknown): ClusterPlace | undefined {
  const { genesisHash, mint, squadsProgram, rpcUrls, rpcQuorum, sending, facts } = value as Json;
  if (!isText(genesisHash) || !isText(mint) || !isText(squadsProgram)) return undefined;
  if (!isAddress(mint) || !isAddress(squadsProgram) || !Number.isInteger(rpcQuorum)) return undefined;
  if (!Array.isArray(rpcUrls) || rpcUrls.length === 0 || !rpcUrls.every(isText)) return undefined;
  const known = Object.entries(facts as Json);
  if (!known.every((fact): fact is [string, string] => isText(fact[1]))) return undefined;
  return {
    ...{ genesisHash, mint, squadsProgram, rpcUrls, rpcQuorum: Number(rpcQuorum) },
    ...(sending === undefined ? {} : { sending: sending as StoredSending }),
    facts: Object.fromEntries(known),
  };
}

function storedSigners(value: unknown): StoredSigners | undefined {
  const { operator, burnWallet } = value as Json;
  if (![operator, burnWallet].every((command) => command === undefined || isText(command))) return undefined;
  return {
    ...(isText(operator) ? { operator } : {}),
    ...(isText(burnWallet) ? { burnWallet } : {}),
  };
}

/** The configuration of a data directory, also of a set-up that is not complete; `undefined` before one began. */
export function readBegunConfig(dataDir: string): BegunConfig | undefined {
  const path = dataFiles(dataDir).config;
  const text = read(path);
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    const funds = fundsFromJson(value);
    if (value['version'] === FORMAT_VERSION && funds !== undefined) {
      if ('cluster' in value) {
        const cluster = clusterPlace(value['cluster']);
        const signers = storedSigners(value['signers'] ?? {});
        if (cluster !== undefined && signers !== undefined) return { cluster, signers, ...funds };
      } else {
        const config = ledgerConfig(value);
        if (config !== undefined) return { ...config, ...funds };
      }
    }
  } catch {
    // Refused below, together with a file of another shape.
  }
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `${path}: it is damaged, or was written by another version of flywheel.`,
  );
}

/** The configuration of a data directory, or `undefined` until `local init` or `register` is done. */
export function readDataConfig(dataDir: string): DataConfig | undefined {
  const config = readBegunConfig(dataDir);
  return config === undefined || isUnfinished(config) ? undefined : config;
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done. */
export function requireDataConfig(dataDir: string): DataConfig {
  const config = requireBegunConfig(dataDir);
  if (!isUnfinished(config)) return config;
  throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `The set-up of the flywheel in ${dataDir} is not done.`, {
    hint: 'Run `flywheel local init` again: it goes on where it was, and waits for one that is still at it.',
  });
}

/** Also that of a set-up that is not complete. @throws `ERR_LOCAL_NOT_FOUND` before one began. */
export function requireBegunConfig(dataDir: string): BegunConfig {
  const config = readBegunConfig(dataDir);
  if (config !== undefined) return config;
  if (exists(dataFiles(dataDir).registration))
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `The registration in ${dataDir} is not done.`, {
      hint: 'Run the same `flywheel register` again: it goes on where it was.',
    });
  throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `There is no flywheel in ${dataDir}.`);
}

/** The configuration of one on the embedded ledger. @throws `ERR_USAGE` where the flywheel is on a cluster. */
function ofLedger(dataDir: string, config: DataConfig): LocalConfig {
  if (!isOnCluster(config)) return config;
  throw new FlywheelError(
    'ERR_USAGE',
    `The flywheel in ${dataDir} is on ${clusterName(config.cluster.genesisHash) ?? 'a cluster'}, and this is for the embedded ledger only; nothing was changed.`,
    { hint: 'Name the data directory of a local flywheel with --data-dir.' },
  );
}

/** The configuration of a data directory, or `undefined` until `local init` is done. @throws as {@link requireLocalConfig} */
export function readLocalConfig(dataDir: string): LocalConfig | undefined {
  const config = readDataConfig(dataDir);
  return config === undefined ? undefined : ofLedger(dataDir, config);
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` is done, `ERR_USAGE` where the flywheel is on a cluster. */
export const requireLocalConfig = (dataDir: string): LocalConfig =>
  ofLedger(dataDir, requireDataConfig(dataDir));

export function writeLocalConfig(dataDir: string, config: BegunConfig): void {
  const written = { version: FORMAT_VERSION, ...config, ...fundsToJson(config) };
  makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
  writePrivate(dataFiles(dataDir).config, `${JSON.stringify(written)}\n`);
}

/** The API key in a file, or `null`. */
export function readSecret(file: string): Secret | null {
  const text = read(file)?.trim();
  return text === undefined || text === '' ? null : new Secret(text);
}

/** The API key that `local init` made, or `null`. */
export const readApiKey = (dataDir: string): Secret | null => readSecret(dataFiles(dataDir).apiKey);

/** The API key of a project of a database that `register` made here, or `null`. */
export const readProjectKey = (dataDir: string, project: string): Secret | null =>
  readSecret(projectFiles(dataDir, project).apiKey);

/** Writes a file that only the user can read. @throws `ERR_STORE_UNAVAILABLE` naming the file and the reason. */
export const writePrivate = (path: string, text: string | Uint8Array): void =>
  writeFileAtomic(path, text, 'ERR_STORE_UNAVAILABLE', { mode: PRIVATE_FILE_MODE });

/** Removes what an engine keeps in its data directory, and nothing else that may lie there. */
export function wipeDataDirectory(dataDir: string): void {
  const { config, keys, apiKey, owner, squadsProgram, approvals, ...files } = dataFiles(dataDir);
  const { store, ledger, journal, approvalRecord } = files;
  // The configuration goes last: until then the directory can be wiped again.
  const databases = [store, ledger, journal, approvalRecord].flatMap((file) => [
    file,
    `${file}-wal`,
    `${file}-shm`,
  ]);
  for (const path of [...databases, approvals, keys, apiKey, owner, squadsProgram, config]) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch (cause) {
      throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: cannot be removed: ${fileProblem(cause)}.`, {
        cause,
      });
    }
  }
}

export const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

function read(path: string): string | undefined {
  try {
    return readIfThere(path);
  } catch (cause) {
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: cannot be read: ${fileProblem(cause)}.`, {
      cause,
    });
  }
}

/** The chain that the flywheel of a data directory is on; `null` until there is one. */
export function chainOfData(dataDir: string): DataChain | null {
  const config = readDataConfig(dataDir);
  if (config === undefined) return null;
  if (!isOnCluster(config)) return { kind: 'ledger', name: null, genesisHash: config.genesis };
  const { genesisHash } = config.cluster;
  return { kind: 'cluster', name: clusterName(genesisHash), genesisHash };
}
