/** The data directory of an embedded engine: its files, and `local.json`, which is read before any of them is opened. */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { clusterName } from '../chain/node-address.js';
import { createKeypairSigner } from '../chain/transaction/sign.js';
import type { ErrorCode } from '../errors/codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import {
  APPROVALS_FILE,
  apiKeyFile,
  approvalDirectory,
  JOURNAL_FILE,
  ownerFile,
} from '../files/directories.js';
import { parseKeypairText } from '../files/keypair-file.js';
import { fileProblem, readIfThere } from '../files/read-file.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';
import { type Address, isAddress } from '../values/address.js';
import { Secret } from '../values/secret.js';

const FORMAT_VERSION = 2;

const LEDGER = z.object({
  /** Source of the SOL of `local fund`. */
  treasury: z.custom<Address>((value) => typeof value === 'string' && isAddress(value)),
  ownerKeypair: z.string(),
  /** Run the real Squads program instead of the built-in one. */
  squadsProgram: z.boolean(),
  /** Hash of the ledger's first block, base58. */
  genesis: z.string(),
});

const CLUSTER = z.object({
  cluster: z.object({
    /** Base58; nodes of any other cluster are refused. */
    genesisHash: z.string(),
    /** As given, in order of preference; addresses may contain keys. */
    rpcUrls: z.array(z.string()).min(1).readonly(),
    rpcQuorum: z.int().positive(),
    maxPriorityFee: z.int().nonnegative().optional(),
    commitment: z.enum(['confirmed', 'finalized']).optional(),
  }),
  /** Commands of signer programs. A role without one has its key in the data directory. */
  signers: z.object({ operator: z.string().optional(), burnWallet: z.string().optional() }),
});

const FILE = z.union([CLUSTER, LEDGER]).and(z.object({ version: z.literal(FORMAT_VERSION) }));

export type LocalConfig = Readonly<z.infer<typeof LEDGER>>;

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
  owner: ownerFile(dataDir),
  squadsProgram: join(dataDir, 'squads-v4.so'),
  journal: join(dataDir, JOURNAL_FILE),
  approvalRecord: join(dataDir, APPROVALS_FILE),
  approvals: approvalDirectory(dataDir),
  lock: join(dataDir, 'lock'),
  /** Where `local init` prepares a project before moving it into place. */
  unfinished: join(dataDir, 'init.tmp'),
});

/** @returns `undefined` until `local init` or `register` is done. @throws `ERR_STORE_UNAVAILABLE` for a damaged file */
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

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done */
export function requireDataConfig(dataDir: string): LocalConfig | ClusterConfig {
  const config = readDataConfig(dataDir);
  if (config !== undefined) return config;
  if (exists(dataFiles(dataDir).registration))
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `The registration in ${dataDir} is not finished.`, {
      hint: 'Run the same `flywheel register` command again to finish the registration.',
    });
  throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `No project in ${dataDir}.`);
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` is done, `ERR_USAGE` for a project on a cluster */
export function requireLocalConfig(dataDir: string): LocalConfig {
  const config = requireDataConfig(dataDir);
  if (!isOnCluster(config)) return config;
  throw new FlywheelError(
    'ERR_USAGE',
    `The project in ${dataDir} is on ${clusterName(config.cluster.genesisHash) ?? 'a cluster'}, but this command is for the embedded ledger only. Nothing was changed.`,
    { hint: 'Use the data directory of a local project: --data-dir.' },
  );
}

export const readLocalConfig = (dataDir: string): LocalConfig | undefined =>
  exists(dataFiles(dataDir).config) ? requireLocalConfig(dataDir) : undefined;

export function writeLocalConfig(dataDir: string, config: LocalConfig | ClusterConfig): void {
  makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
  writePrivate(dataFiles(dataDir).config, `${JSON.stringify({ version: FORMAT_VERSION, ...config })}\n`);
}

/** @returns `null` for a missing or empty file */
export function readSecret(file: string): Secret | null {
  const text = read(file)?.trim();
  return text === undefined || text === '' ? null : new Secret(text);
}

/** @throws `code`, naming the file and the reason, never the content */
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

/** @throws `ERR_KEYPAIR_INVALID`, naming the file and the reason, never the content */
export function readOwner(path: string): { readonly bytes: Uint8Array; readonly address: Address } {
  const bytes = readKeypair(path, 'ERR_KEYPAIR_INVALID');
  return { bytes, address: createKeypairSigner(bytes).address };
}

/** Writes a file with mode 0600. @throws `ERR_STORE_UNAVAILABLE` */
export const writePrivate = (path: string, text: string | Uint8Array): void =>
  writeFileAtomic(path, text, 'ERR_STORE_UNAVAILABLE', { mode: PRIVATE_FILE_MODE });

/** Deletes only the files that an engine keeps in its data directory. */
export function wipeDataDirectory(dataDir: string): void {
  const { config, keys, apiKey, owner, squadsProgram, approvals, unfinished, ...files } = dataFiles(dataDir);
  const { store, ledger, journal, approvalRecord } = files;
  // The configuration goes last: until then an interrupted deletion can be repeated.
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
