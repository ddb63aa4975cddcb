/** The data directory of an embedded engine: which files it holds, and the little that must be known before any is opened. */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { clusterName } from '../chain/node-address.js';
import { createKeypairSigner } from '../chain/transaction/sign.js';
import type { ErrorCode } from '../errors/codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { APPROVALS_FILE, apiKeyFile, approvalDirectory, JOURNAL_FILE } from '../files/directories.js';
import { parseKeypairText } from '../files/keypair-file.js';
import { fileProblem, readIfThere } from '../files/read-file.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';
import { type Address, isAddress } from '../values/address.js';
import { Secret } from '../values/secret.js';

const FORMAT_VERSION = 2;

const LEDGER = z.object({
  /** Holds what `local fund` gives out. */
  treasury: z.custom<Address>((value) => typeof value === 'string' && isAddress(value)),
  /** Absolute path of the owner's keypair file. */
  ownerKeypair: z.string(),
  /** Does the real Squads program run in place of the native one? */
  squadsProgram: z.boolean(),
  /** Identity of the ledger, base58. */
  genesis: z.string(),
});

const CLUSTER = z.object({
  cluster: z.object({
    /** Base58; nodes of any other cluster are refused. */
    genesisHash: z.string(),
    /** Addresses of nodes as they were given, the first choice first; they may hold keys. */
    rpcUrls: z.array(z.string()).min(1).readonly(),
    /** How many of them have to agree. */
    rpcQuorum: z.int().positive(),
    /** Lamports that a transaction pays beyond its signatures at most, where it is not as usual. */
    maxPriorityFee: z.int().nonnegative().optional(),
    /** When a transaction counts as landed, where it is not as usual. */
    commitment: z.enum(['confirmed', 'finalized']).optional(),
  }),
  /** Commands of the programs that sign; of what is not named, the key lies in the data directory. */
  signers: z.object({ operator: z.string().optional(), burnWallet: z.string().optional() }),
});

const FILE = z.union([CLUSTER, LEDGER]).and(z.object({ version: z.literal(FORMAT_VERSION) }));

/** What `local.json` says of a flywheel on the embedded ledger. */
export type LocalConfig = Readonly<z.infer<typeof LEDGER>>;

/** What it says of a flywheel on a cluster. */
export type ClusterConfig = Readonly<z.infer<typeof CLUSTER>>;

export const isOnCluster = (config: LocalConfig | ClusterConfig): config is ClusterConfig =>
  'cluster' in config;

export const PRIVATE_FILE_MODE = 0o600;

export const dataFiles = (dataDir: string) => ({
  config: join(dataDir, 'local.json'),
  registration: join(dataDir, 'registration.json'),
  store: join(dataDir, 'store.db'),
  ledger: join(dataDir, 'ledger.db'),
  keys: join(dataDir, 'keys'),
  apiKey: apiKeyFile(dataDir, null),
  owner: join(dataDir, 'owner.json'),
  squadsProgram: join(dataDir, 'squads-v4.so'),
  journal: join(dataDir, JOURNAL_FILE),
  approvalRecord: join(dataDir, APPROVALS_FILE),
  approvals: approvalDirectory(dataDir),
  lock: join(dataDir, 'lock'),
  /** A flywheel that `local init` has not finished. */
  unfinished: join(dataDir, 'init.tmp'),
});

/** The configuration of a data directory; `undefined` until `local init` or `register` is done. */
export function readDataConfig(dataDir: string): LocalConfig | ClusterConfig | undefined {
  const path = dataFiles(dataDir).config;
  const text = read(path);
  if (text === undefined) return undefined;
  try {
    const { version: _version, ...config } = FILE.parse(JSON.parse(text));
    return config;
  } catch (cause) {
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `${path}: the file is damaged, or was written by another version of flywheel.`,
      { cause },
    );
  }
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done. */
export function requireDataConfig(dataDir: string): LocalConfig | ClusterConfig {
  const config = readDataConfig(dataDir);
  if (config !== undefined) return config;
  if (exists(dataFiles(dataDir).registration))
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `The registration in ${dataDir} is not finished.`, {
      hint: 'Run the same `flywheel register` command again to finish the registration.',
    });
  throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `No project in ${dataDir}.`);
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` is done, `ERR_USAGE` where the flywheel is on a cluster. */
export function requireLocalConfig(dataDir: string): LocalConfig {
  const config = requireDataConfig(dataDir);
  if (!isOnCluster(config)) return config;
  throw new FlywheelError(
    'ERR_USAGE',
    `The project in ${dataDir} is on ${clusterName(config.cluster.genesisHash) ?? 'a cluster'}, but this command is for the embedded ledger only. Nothing was changed.`,
    { hint: 'Use the data directory of a local project: --data-dir.' },
  );
}

/** The same, or `undefined` until `local init` is done. */
export const readLocalConfig = (dataDir: string): LocalConfig | undefined =>
  exists(dataFiles(dataDir).config) ? requireLocalConfig(dataDir) : undefined;

export function writeLocalConfig(dataDir: string, config: LocalConfig | ClusterConfig): void {
  makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
  writePrivate(dataFiles(dataDir).config, `${JSON.stringify({ version: FORMAT_VERSION, ...config })}\n`);
}

/** The API key in a file, or `null`. */
export function readSecret(file: string): Secret | null {
  const text = read(file)?.trim();
  return text === undefined || text === '' ? null : new Secret(text);
}

/** The bytes in a keypair file of the data directory. @throws the error, naming the file and the reason, never its content. */
export function readKeypair(path: string, code: ErrorCode): Uint8Array {
  const refuse = (reason: string): FlywheelError =>
    new FlywheelError(code, `${path}: the key cannot be read: ${reason}.`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw refuse(fileProblem(error));
  }
  const parsed = parseKeypairText(text);
  if ('problem' in parsed) throw refuse('this is not a keypair file');
  return parsed.bytes;
}

/** The owner's keypair. @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content. */
export function readOwner(path: string): { readonly bytes: Uint8Array; readonly address: Address } {
  const bytes = readKeypair(path, 'ERR_KEYPAIR_INVALID');
  return { bytes, address: createKeypairSigner(bytes).address };
}

/** Writes a file that only the user can read. @throws `ERR_STORE_UNAVAILABLE` naming the file and the reason. */
export const writePrivate = (path: string, text: string | Uint8Array): void =>
  writeFileAtomic(path, text, 'ERR_STORE_UNAVAILABLE', { mode: PRIVATE_FILE_MODE });

/** Removes what an engine keeps in its data directory, and nothing else that may lie there. */
export function wipeDataDirectory(dataDir: string): void {
  const { config, keys, apiKey, owner, squadsProgram, approvals, unfinished, ...files } = dataFiles(dataDir);
  const { store, ledger, journal, approvalRecord } = files;
  // The configuration goes last: until then the directory can be wiped again.
  const databases = [store, ledger, journal, approvalRecord].flatMap((file) => [
    file,
    `${file}-wal`,
    `${file}-shm`,
  ]);
  for (const path of [...databases, approvals, keys, apiKey, owner, squadsProgram, unfinished, config]) {
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
