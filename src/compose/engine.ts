/** Puts the embedded engine together: store, ledger and keys of one data directory. */
import { readFileSync } from 'node:fs';
import type { Chain } from '../chain/chain.js';
import { localGenesis } from '../chain/local/ledger/genesis.js';
import { type LocalChain, openLocalChain } from '../chain/local/local-chain.js';
import {
  IDEMPOTENCY_RETENTION_DAYS,
  MAX_OPEN_RENT_LAMPORTS,
  MAX_PROOF_BYTES,
  MIN_OPERATOR_LAMPORTS,
} from '../contract/limits.js';
import { MAX_PIPELINES } from '../contract/schemas/batch.js';
import { MAX_BURN_BATCH_ELEMENTS } from '../contract/schemas/burn.js';
import type { EngineLimits, TokenCheck } from '../engine/deps.js';
import { createEngine, type Engine } from '../engine/engine.js';
import type { EngineEvent } from '../engine/events.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { fileProblem } from '../files/read-file.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { Store } from '../store/store.js';
import type { Address } from '../values/address.js';
import { type Sha256, sha256 } from '../values/digest.js';
import { randomIds } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import { processActor } from './actor.js';
import { fundsLimits } from './batch-funds.js';
import type { OpenedKeyring } from './custody.js';
import { shareDataDirectory } from './data-lock.js';
import { createFileKeyring, type FileKeyring } from './file-keyring.js';
import { createInstances } from './instances.js';
import { dataFiles, type LocalConfig, type UnfinishedConfig } from './local-config.js';
import type { Meter } from './measure.js';
import { requireTogether } from './two-files.js';

export interface OpenedEngine<OwnChain extends Chain = LocalChain> {
  readonly engine: Engine;
  readonly chain: OwnChain;
  readonly store: Store;
  /** Name under which it holds leases. */
  readonly instance: string;
  close(): Promise<void>;
}

/** What an engine works on. */
export type EngineFiles = Pick<OpenedEngine, 'store' | 'chain'>;

/** How an engine works, on whichever chain. */
export interface EngineTerms {
  readonly clock: Clock;
  readonly limits?: Partial<EngineLimits>;
  /** Name of the project that administration acts on. @default the only one */
  readonly project?: string | null;
  /** Asked for each project before something is written for it. @default nothing is */
  readonly verifyToken?: TokenCheck;
  /** Hears what is done, and by whom. */
  readonly onEvent?: (event: EngineEvent, instance: string) => void;
  /** Measures what the engine waits for. */
  readonly meter?: Meter;
  /** Who keeps the keys. @default the data directory */
  readonly keys?: (files: FileKeyring) => OpenedKeyring;
}

export interface OpenEngineOptions extends EngineTerms {
  /** What stands between the engine and its files, such as whatever delays, loses or refuses. @default nothing */
  readonly between?: (files: EngineFiles) => EngineFiles;
}

export const DEFAULT_LIMITS: EngineLimits = {
  maxBurnBatchElements: MAX_BURN_BATCH_ELEMENTS,
  burnsPerCommit: 128,
  bundlesPerCommit: 32,
  maxPipelines: MAX_PIPELINES,
  maxProofBytes: MAX_PROOF_BYTES,
  idempotencyRetentionDays: IDEMPOTENCY_RETENTION_DAYS,
  minOperatorLamports: MIN_OPERATOR_LAMPORTS,
  maxOpenRentLamports: MAX_OPEN_RENT_LAMPORTS,
};

/** For engines that serve many at once: smaller commits cost some burns a second, and nobody waits long for one. */
export const SHARED_LIMITS = {
  burnsPerCommit: 32,
  bundlesPerCommit: 4,
} as const satisfies Partial<EngineLimits>;

/** SHA-256 of the Squads v4 program as it runs on mainnet. */
export const SQUADS_PROGRAM_SHA256 =
  'dec8d3e0fae58c7c8f2416e5f67c25e673f047afd6dd2bba4a47e0b29a01d34c' as Sha256;
/** Length of that file. */
export const SQUADS_PROGRAM_BYTES = 1_470_416;

/**
 * Opens store and ledger of a data directory that has a configuration; of a set-up that is not complete, what is not there yet is made.
 * @throws `ERR_STORE_UNAVAILABLE` when a file cannot be used.
 */
export async function openEngine(
  dataDir: string,
  config: LocalConfig | UnfinishedConfig,
  { between = (opened) => opened, ...terms }: OpenEngineOptions,
): Promise<OpenedEngine> {
  const { close: closeFiles, ...opened } = await openFiles(dataDir, config, terms.clock);
  const { store, chain } = between(opened);
  try {
    await requireTogether(store, chain, config.genesis);
  } catch (error) {
    await closeFiles();
    throw error;
  }
  const limits = { ...fundsLimits(config), ...terms.limits };
  return engineOver(dataDir, { store, chain, close: closeFiles }, config.treasury, { ...terms, limits });
}

const inFiles = (files: FileKeyring): OpenedKeyring => ({ ...files, close: async () => {} });

/** The engine over the store and chain of a data directory. */
export function engineOver<OwnChain extends Chain>(
  dataDir: string,
  { store, chain, close: closeFiles }: Omit<OpenedEngine<OwnChain>, 'engine' | 'instance'>,
  treasury: Address | null,
  { clock, limits, project = null, keys = inFiles, meter, onEvent, verifyToken }: EngineTerms,
): OpenedEngine<OwnChain> {
  const instances = createInstances();
  const keyring = keys(createFileKeyring(dataFiles(dataDir).keys));
  const engine = createEngine({
    store: meter?.store(store) ?? store,
    chain: meter?.chain(chain) ?? chain,
    keyring,
    treasury,
    clock,
    ids: randomIds,
    instances,
    actor: processActor(),
    limits: { ...DEFAULT_LIMITS, ...limits },
    project,
    ...(verifyToken === undefined ? {} : { verifyToken }),
    ...(onEvent === undefined ? {} : { onEvent: (event) => onEvent(event, instances.id) }),
  });
  const close = async (): Promise<void> => {
    await keyring.close();
    instances.release();
    await closeFiles();
  };
  return { engine, chain, store, instance: instances.id, close };
}

/** Store and ledger of a data directory, with the lock that keeps others from wiping it; whether they belong together is not looked at. */
export async function openFiles(
  dataDir: string,
  config: LocalConfig | UnfinishedConfig,
  clock: Clock,
): Promise<Omit<OpenedEngine, 'engine' | 'instance'>> {
  const files = dataFiles(dataDir);
  const squadsProgram = config.squadsProgram ? { squadsProgram: readSquadsProgram(files.squadsProgram) } : {};
  const create = config.genesis === null;
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  let chain: LocalChain | undefined;
  try {
    const lock = await shareDataDirectory(files.lock);
    closers.push(() => lock.release());
    const ledgerMark = (): string => chain?.knownMark ?? '';
    const store = await openSqliteStore({ path: files.store, create, ledgerMark, clock });
    closers.push(() => store.close());
    chain = await openLocalChain({
      path: files.ledger,
      clock,
      create,
      genesis: { accounts: localGenesis(config.treasury) },
      ...squadsProgram,
    });
    const opened = chain;
    closers.push(() => opened.close());
    return { store, chain, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * The bytes of the real Squads program.
 * @throws `ERR_CONFIG_INVALID` when the file is not the program that runs on mainnet.
 */
export function readSquadsProgram(path: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new FlywheelError('ERR_CONFIG_INVALID', `${path}: cannot be read: ${fileProblem(cause)}.`, {
      cause,
    });
  }
  const hash = sha256(bytes);
  if (hash === SQUADS_PROGRAM_SHA256) return bytes;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `${path}: not the Squads v4 program of mainnet: its SHA-256 is ${hash}, expected ${SQUADS_PROGRAM_SHA256}.`,
  );
}
