/** The data directory of an embedded engine: which files it holds, and the little that must be known before any is opened. */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { BatchFunds } from '../contract/admin.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { APPROVALS_FILE, approvalDirectory, JOURNAL_FILE } from '../files/directories.js';
import { fileProblem, readIfThere } from '../files/read-file.js';
import { makePrivateDirectory, writeFileAtomic } from '../files/write-file.js';
import { type Address, isAddress } from '../values/address.js';
import { Secret } from '../values/secret.js';
import { fundsFromJson, fundsToJson } from './batch-funds.js';

/** What `local.json` says. */
export interface LocalConfig extends BatchFunds {
  /** Holds what `local fund` gives out. */
  readonly treasury: Address;
  /** Absolute path of the owner's keypair file. */
  readonly ownerKeypair: string;
  /** Does the real Squads program run in place of the native one? */
  readonly squadsProgram: boolean;
  /** Identity of the ledger, base58; `null` until the set-up is complete, and only until then are missing files made. */
  readonly genesis: string | null;
}

/** Readable by the user only. */
export const PRIVATE_FILE_MODE = 0o600;

const FORMAT_VERSION = 1;

/** Paths inside a data directory. */
export const dataFiles = (dataDir: string) => ({
  config: join(dataDir, 'local.json'),
  store: join(dataDir, 'store.db'),
  ledger: join(dataDir, 'ledger.db'),
  keys: join(dataDir, 'keys'),
  apiKey: join(dataDir, 'api-key'),
  owner: join(dataDir, 'owner.json'),
  squadsProgram: join(dataDir, 'squads-v4.so'),
  rateCounts: join(dataDir, 'rate-counts.db'),
  journal: join(dataDir, JOURNAL_FILE),
  approvalRecord: join(dataDir, APPROVALS_FILE),
  approvals: approvalDirectory(dataDir),
  lock: join(dataDir, 'lock'),
});

/** The configuration of a data directory, or `undefined` before `local init`. */
export function readLocalConfig(dataDir: string): LocalConfig | undefined {
  const path = dataFiles(dataDir).config;
  const text = read(path);
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    const { version, treasury, ownerKeypair, squadsProgram, genesis } = value;
    const funds = fundsFromJson(value);
    if (
      version === FORMAT_VERSION &&
      typeof treasury === 'string' &&
      isAddress(treasury) &&
      typeof ownerKeypair === 'string' &&
      funds !== undefined
    ) {
      return {
        treasury,
        ownerKeypair,
        squadsProgram: squadsProgram === true,
        genesis: typeof genesis === 'string' ? genesis : null,
        ...funds,
      };
    }
  } catch {
    // Refused below, together with a file of another shape.
  }
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `${path}: it is damaged, or was written by another version of flywheel.`,
  );
}

/** @throws `ERR_LOCAL_NOT_FOUND` before `local init`. */
export function requireLocalConfig(dataDir: string): LocalConfig {
  const config = readLocalConfig(dataDir);
  if (config !== undefined) return config;
  throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `There is no flywheel in ${dataDir}.`);
}

export function writeLocalConfig(dataDir: string, config: LocalConfig): void {
  const written = { version: FORMAT_VERSION, ...config, ...fundsToJson(config) };
  makePrivateDirectory(dataDir, 'ERR_CONFIG_INVALID');
  writePrivate(dataFiles(dataDir).config, `${JSON.stringify(written)}\n`);
}

/** The API key that `local init` made, or `null`. */
export function readApiKey(dataDir: string): Secret | null {
  const text = read(dataFiles(dataDir).apiKey)?.trim();
  return text === undefined || text === '' ? null : new Secret(text);
}

/** Writes a file that only the user can read. @throws `ERR_STORE_UNAVAILABLE` naming the file and the reason. */
export const writePrivate = (path: string, text: string | Uint8Array): void =>
  writeFileAtomic(path, text, 'ERR_STORE_UNAVAILABLE', { mode: PRIVATE_FILE_MODE });

/** Removes what an engine keeps in its data directory, and nothing else that may lie there. */
export function wipeDataDirectory(dataDir: string): void {
  const { config, keys, apiKey, owner, squadsProgram, approvals, ...files } = dataFiles(dataDir);
  const { store, ledger, rateCounts, journal, approvalRecord } = files;
  // The configuration goes last: until then the directory can be wiped again.
  const databases = [store, ledger, rateCounts, journal, approvalRecord].flatMap((file) => [
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
