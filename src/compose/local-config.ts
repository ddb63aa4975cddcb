/** The data directory of an embedded engine: its files, and `local.json`, which is read before any of them is opened. */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { clusterName } from '../chain/node-address.js';
import { createKeypairSigner } from '../chain/transaction/sign.js';
import type { ErrorCode } from '../errors/codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { apiKeyFile, approvalDirectory, JOURNAL_FILE, ownerFile } from '../files/directories.js';
import { parseKeypairText } from '../files/keypair-file.js';
import { fileProblem, onFile, readIfThere } from '../files/read-file.js';
import { makePrivateDirectory, moveFile, writeFileAtomic } from '../files/write-file.js';
import { type Address, isAddress } from '../values/address.js';
import { Secret } from '../values/secret.js';

const FORMAT_VERSION = 2;

export const addressField = z.custom<Address>((value) => typeof value === 'string' && isAddress(value));

const LEDGER = z.object({
  /** Source of the SOL of `local fund`. */
  treasury: addressField,
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

const CONFIG = z.union([CLUSTER, LEDGER]);

const VERSION = z.object({ version: z.literal(FORMAT_VERSION) });

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
  approvals: approvalDirectory(dataDir),
  lock: join(dataDir, 'lock'),
  /** Exists while `local init` is not done. */
  unfinished: join(dataDir, 'init.tmp'),
});

/** @returns `undefined` until `local init` or `register` is done. @throws `ERR_STORE_UNAVAILABLE` for a damaged file */
export const readDataConfig = (dataDir: string): LocalConfig | ClusterConfig | undefined =>
  readVersioned(dataFiles(dataDir).config, CONFIG);

/** Reads a file with {@link versioned} text; `undefined` if it is missing. @throws `ERR_STORE_UNAVAILABLE` for a damaged file */
export function readVersioned<Content>(path: string, content: z.ZodType<Content>): Content | undefined {
  const text = read(path);
  if (text === undefined) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    VERSION.parse(found);
    return content.parse(found);
  } catch (cause) {
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `${path}: the file is damaged, or was written by another version of flywheel.`,
      { cause },
    );
  }
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done */
export const requireDataConfig = (dataDir: string): LocalConfig | ClusterConfig =>
  readDataConfig(dataDir) ?? withoutProject(dataDir);

/** @throws `ERR_LOCAL_NOT_FOUND`, always */
export function withoutProject(dataDir: string): never {
  if (!exists(dataFiles(dataDir).registration))
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `No project in ${dataDir}.`);
  throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `The registration in ${dataDir} is not finished.`, {
    hint: 'Run the same `flywheel register` command again to finish the registration.',
  });
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

export const versioned = (content: object): string =>
  `${JSON.stringify({ version: FORMAT_VERSION, ...content })}\n`;

export function writeLocalConfig(dataDir: string, config: LocalConfig | ClusterConfig): void {
  makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
  writePrivate(dataFiles(dataDir).config, versioned(config));
}

/** Turns the mark of an unfinished set-up into the configuration, in one step. */
export function finishLocalConfig(dataDir: string, config: LocalConfig): void {
  const { config: path, unfinished } = dataFiles(dataDir);
  writePrivate(unfinished, versioned(config));
  moveFile(unfinished, path);
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

/** A database, and the files that SQLite keeps beside it. */
const databaseFiles = (path: string): readonly string[] => [path, `${path}-wal`, `${path}-shm`];

/** Removes the databases of an interrupted `local init`, then its mark. */
export function clearUnfinished(dataDir: string): void {
  const { unfinished, store, ledger } = dataFiles(dataDir);
  if (!exists(unfinished)) return;
  for (const path of [...databaseFiles(store), ...databaseFiles(ledger), unfinished])
    rmSync(path, { force: true });
}

/** Deletes only the files that an engine keeps in its data directory. */
export function wipeDataDirectory(dataDir: string): void {
  const { config, lock: _lock, registration: _other, ...files } = dataFiles(dataDir);
  // The configuration goes last: until then an interrupted deletion can be repeated.
  for (const path of [...Object.values(files).flatMap(databaseFiles), config])
    onFile('ERR_STORE_UNAVAILABLE', `${path}: cannot be removed`, () =>
      rmSync(path, { recursive: true, force: true }),
    );
}

/** @throws `ERR_CONFIG_INVALID` where it cannot be told */
export const exists = (path: string): boolean =>
  onFile(
    'ERR_CONFIG_INVALID',
    `${path} cannot be looked up`,
    () => statSync(path, { throwIfNoEntry: false }) !== undefined,
  );

const read = (path: string): string | undefined =>
  onFile('ERR_STORE_UNAVAILABLE', `${path}: cannot be read`, () => readIfThere(path));
