/** Puts an engine together: its store, its chain and its keys, for a ledger in a data directory, a cluster, or a database. */
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
import type { EngineLimits, EngineParts } from '../engine/deps.js';
import { createEngine, type Engine } from '../engine/engine.js';
import type { EngineEvent } from '../engine/events.js';
import { Leases } from '../engine/lease.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { fileProblem } from '../files/read-file.js';
import type { Measured } from '../http/options.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { Store } from '../store/store.js';
import { type Sha256, sha256 } from '../values/digest.js';
import { randomIds } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import { processActor, processName } from './actor.js';
import {
  checkedChain,
  requireSameCluster,
  verifyDirectory,
  verifyEachProject,
  verifyProgram,
} from './cluster-check.js';
import type { Ambient } from './context.js';
import { type OpenedKeyring, openKeyring } from './custody.js';
import { shareDataDirectory } from './data-lock.js';
import { connectionsOf, openDatabase, requireGenesis } from './database.js';
import { createFileKeyring } from './file-keyring.js';
import { type ClusterConfig, dataFiles, isOnCluster, type LocalConfig } from './local-config.js';
import { measured } from './measure.js';
import { type Opened, opening } from './opened.js';
import { type DataPlace, requirePlace } from './place.js';
import { type OwnRpc, openDataRpc } from './rpc.js';
import type { Settings } from './settings.js';
import { findLedgerGap, requireTogether } from './two-files.js';

/** An engine with what it works on. */
export interface OpenedEngine<OwnChain extends Chain = Chain> {
  /** The service and its administration. */
  readonly engine: Engine;
  readonly store: Store;
  readonly chain: OwnChain;
  /** The nodes of its cluster; `null` for the ledger of a data directory. */
  readonly rpc: OwnRpc | null;
  /** Identity of its chain, base58. */
  readonly genesis: string;
  /** Asks a cluster now whether it is the one of the flywheel. @throws `ERR_CHAIN_MISMATCH`, `ERR_UNAVAILABLE` */
  verify(): Promise<void>;
  close(): Promise<void>;
}

/** What an engine works on. */
export type EngineFiles = Pick<OpenedEngine<LocalChain>, 'store' | 'chain'>;

/** How an engine works, wherever. */
export interface EngineOptions {
  readonly limits?: Partial<EngineLimits>;
  /** Hears what is done, and by whom. */
  readonly onEvent?: (event: EngineEvent) => void;
  /** Hears how long the engine has waited, and for what. */
  readonly onMeasured?: (measured: Measured) => void;
  /** Is what a ledger has and its store lacks written down, to be accepted, where it is refused else? @default false */
  readonly findsGap?: boolean;
  /** What stands between the engine and the files of a ledger, such as whatever delays, loses or refuses. @default nothing */
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

/** What of an engine is not the same everywhere. */
interface Parts<OwnChain extends Chain>
  extends Pick<EngineParts, 'treasury' | 'project' | 'verifyToken' | 'clock'>,
    Pick<OpenedEngine<OwnChain>, 'store' | 'chain' | 'rpc' | 'genesis' | 'verify'> {
  readonly keyring: OpenedKeyring;
}

/** The engine over what was opened, which is closed with it. */
function engineOver<OwnChain extends Chain>(
  opened: Opened,
  { rpc, genesis, verify, ...parts }: Parts<OwnChain>,
  { limits, onMeasured, onEvent }: EngineOptions,
): OpenedEngine<OwnChain> {
  const { store, chain, keyring } = parts;
  const leases = new Leases(processName());
  opened.keep(keyring);
  // The store, which is closed next, waits for what is written for that.
  opened.keep({ close: () => void leases.giveUp() });
  const engine = createEngine({
    ...parts,
    ...(onMeasured === undefined ? {} : measured({ store, chain }, onMeasured)),
    ...{ ids: randomIds, leases, actor: processActor() },
    limits: { ...DEFAULT_LIMITS, ...limits },
    ...(onEvent === undefined ? {} : { onEvent }),
  });
  return { engine, store, chain, rpc, genesis, verify, close: () => opened.close() };
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done, `ERR_STORE_UNAVAILABLE`, `ERR_CONFIG_INVALID` */
export function openEngine(
  ambient: Ambient,
  settings: Settings,
  options: EngineOptions & {
    /** Does its work go on after an interrupt, until it is closed? @default false */
    readonly outlivesSignal?: boolean;
    /** Is the schema of a database brought up to date? @default false */
    readonly upgrades?: boolean;
  } = {},
): Promise<OpenedEngine> {
  const place = requirePlace(settings);
  const { clock } = ambient;
  const { value: dataDir } = settings.dataDir;
  const isLedger = place.kind === 'directory' && !isOnCluster(place.config);
  const stored = place.kind === 'directory' && isOnCluster(place.config) ? place.config.signers : {};
  const keyring = openKeyring(ambient, settings, stored, options.outlivesSignal);
  if (isLedger) return openLedgerEngine(dataDir, place.config as LocalConfig, { ...options, clock, keyring });
  return opening(async (opened) => {
    const { store, genesis } =
      place.kind === 'database'
        ? await storeInDatabase(opened, settings, place, options.upgrades === true)
        : await storeOnCluster(opened, dataDir, place.config as ClusterConfig, clock);
    const rpc = opened.keep(openDataRpc(ambient, settings, { ...options, genesis }));
    const { chain, verify } = checkedChain(rpc.chain, () =>
      place.kind === 'database'
        ? verifyProgram(rpc.chain, genesis)
        : verifyDirectory(rpc.chain, store, genesis),
    );
    const ofDatabase = {
      project: settings.project.value,
      verifyToken: verifyEachProject(rpc.chain, store, genesis),
    };
    const parts = { ...(place.kind === 'database' ? ofDatabase : {}), treasury: null, clock, keyring };
    return engineOver(opened, { ...parts, store, chain, rpc, genesis, verify }, options);
  });
}

async function storeInDatabase(
  opened: Opened,
  { databasePool }: Settings,
  { address }: Extract<DataPlace, { kind: 'database' }>,
  upgrades: boolean,
) {
  const terms = connectionsOf(databasePool.value);
  const store = opened.keep(
    await openDatabase(address, { ...terms, schema: upgrades ? 'update' : 'require' }),
  );
  return { store, genesis: await requireGenesis(store, address) };
}

async function storeOnCluster(opened: Opened, dataDir: string, { cluster }: ClusterConfig, clock: Clock) {
  const files = dataFiles(dataDir);
  opened.keep(await shareDataDirectory(files.lock));
  const store = opened.keep(await openSqliteStore({ path: files.store, create: false, clock }));
  await requireSameCluster(store, cluster.genesisHash);
  return { store, genesis: cluster.genesisHash };
}

/** A configuration, or what `local init` has of one before the ledger is made. */
type LedgerConfig = Pick<LocalConfig, 'treasury' | 'squadsProgram'> & {
  readonly genesis: string | null;
};

/**
 * Opens store and ledger of a data directory, and makes them where there is no genesis yet.
 * @throws `ERR_STORE_UNAVAILABLE` when a file cannot be used.
 */
export const openLedgerEngine = (
  dataDir: string,
  config: LedgerConfig,
  options: EngineOptions & { readonly clock: Clock; readonly keyring?: OpenedKeyring },
): Promise<OpenedEngine<LocalChain>> =>
  opening(async (opened) => {
    const { clock, between = (files) => files, findsGap = false } = options;
    const { treasury } = config;
    const files = between(await openLedgerFiles(opened, dataDir, config, clock));
    await (findsGap ? findLedgerGap : requireTogether)(files.store, files.chain, config.genesis);
    const keyring =
      options.keyring ??
      ({ ...createFileKeyring(dataFiles(dataDir).keys), close: async () => {} } satisfies OpenedKeyring);
    const { genesis } = files.chain;
    const parts = { treasury, clock, keyring, rpc: null, genesis, verify: async () => {} };
    return engineOver(opened, { ...files, ...parts }, options);
  });

/** Store and ledger, with the lock that keeps others from wiping them; whether they belong together is not looked at. */
async function openLedgerFiles(
  opened: Opened,
  dataDir: string,
  config: LedgerConfig,
  clock: Clock,
): Promise<EngineFiles> {
  const files = dataFiles(dataDir);
  const squadsProgram = config.squadsProgram ? { squadsProgram: readSquadsProgram(files.squadsProgram) } : {};
  const create = config.genesis === null;
  let chain: LocalChain | undefined;
  opened.keep(await shareDataDirectory(files.lock));
  const ledgerMark = (): string => chain?.knownMark ?? '';
  const store = opened.keep(await openSqliteStore({ path: files.store, create, ledgerMark, clock }));
  chain = opened.keep(
    await openLocalChain({
      path: files.ledger,
      ...{ clock, create },
      genesis: { accounts: localGenesis(config.treasury) },
      ...squadsProgram,
    }),
  );
  return { store, chain };
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
    `${path}: this is not the Squads v4 program of mainnet: its SHA-256 is ${hash}, expected ${SQUADS_PROGRAM_SHA256}.`,
  );
}
