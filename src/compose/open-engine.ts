/** Puts an engine together: its store, its chain and its keys, for a ledger in a data directory, a cluster, or a database. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ChainReader } from '../chain/chain.js';
import { localGenesis } from '../chain/local/ledger/ledger.js';
import { type LocalChain, openLocalChain } from '../chain/local/local-chain.js';
import { withSecondDecoder } from '../chain/rpc/second-decoder.js';
import { type ChainSender, createSender } from '../chain/send.js';
import type { DataChain } from '../contract/admin.js';
import {
  IDEMPOTENCY_RETENTION_DAYS,
  MAX_BURN_BATCH_ELEMENTS,
  MAX_OPEN_RENT_LAMPORTS,
  MAX_PIPELINES,
  MAX_PROOF_BYTES,
  MIN_OPERATOR_LAMPORTS,
} from '../contract/limits.js';
import type { Measured } from '../contract/served-engine.js';
import type { EngineLimits, EngineParts } from '../engine/deps.js';
import { createEngine, type Engine } from '../engine/engine.js';
import type { EngineEvent } from '../engine/events.js';
import { Leases } from '../engine/lease.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { Store } from '../store/store.js';
import type { DatabaseAddress } from '../values/database-address.js';
import { randomIds } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import { processActor, processName } from './actor.js';
import { requireSameCluster, verifyDirectory, verifyEachProject, verifyProgram } from './cluster-check.js';
import type { Ambient } from './context.js';
import { shareDataDirectory } from './data-lock.js';
import { checkedChain, measured } from './intercept.js';
import { createFileKeyring, type OpenedKeyring, openKeyring } from './keyring.js';
import { type ClusterConfig, dataFiles, type LocalConfig } from './local-config.js';
import { type Opened, opening } from './opened.js';
import { connectionsOf, onCluster, openDatabase, requirePlace } from './place.js';
import { findProject, type Project } from './project.js';
import { openDataRpc } from './rpc.js';
import type { Settings } from './settings.js';
import { readSquadsProgram } from './squads-program.js';
import { findLedgerGap, requireTogether } from './two-files.js';

/** An engine, and what of its chain a command needs beside it. */
export interface LedgerEngine {
  readonly engine: Engine;
  /** Its chain, read as carefully as it has to be. */
  readonly chain: ChainReader;
  readonly sender: ChainSender;
  readonly network: DataChain;
  close(): Promise<void>;
}

export interface OpenedEngine extends LedgerEngine {
  /** The project that they are about. @throws as {@link findProject} */
  project(): Promise<Project>;
}

export interface EngineFiles {
  readonly store: Store;
  readonly chain: LocalChain;
}

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

/** The engine over its parts, which is closed with what was opened. */
function engineOver(
  opened: Opened,
  parts: Pick<EngineParts, 'treasury' | 'project' | 'verifyToken' | 'clock' | 'store' | 'chain'>,
  keyring: OpenedKeyring,
  { limits, onMeasured, onEvent }: EngineOptions,
): Engine {
  const leases = new Leases(processName());
  opened.keep(keyring);
  // The store, which is closed next, waits for what is written for that.
  opened.keep({ close: () => void leases.giveUp() });
  return createEngine({
    ...parts,
    ...(onMeasured === undefined ? {} : measured(parts, onMeasured)),
    ...{ keyring, ids: randomIds, leases, actor: processActor() },
    limits: { ...DEFAULT_LIMITS, ...limits },
    ...(onEvent === undefined ? {} : { onEvent }),
  });
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
  const stored = place.kind === 'cluster' ? place.config.signers : {};
  const keyring = openKeyring(ambient, settings, stored, options.outlivesSignal);
  const projectIn = (store: Store) => () => store.read((tx) => findProject(tx, settings));
  return opening(async (opened) => {
    if (place.kind === 'ledger') {
      const local = await openLedger(opened, settings.dataDir.value, place.config, {
        ...{ ...options, clock, sleep: ambient.sleep, keyring },
      });
      return { ...local, project: projectIn(local.store) };
    }
    const { store, genesis } =
      place.kind === 'database'
        ? await storeInDatabase(opened, settings, place.address, options.upgrades === true)
        : await storeOnCluster(opened, settings.dataDir.value, place.config, clock);
    const rpc = opened.keep(openDataRpc(ambient, settings, { ...options, genesis }));
    const isShared = place.kind === 'database';
    const chain = checkedChain(rpc.chain, () =>
      isShared ? verifyProgram(rpc.chain, genesis) : verifyDirectory(rpc.chain, store, genesis),
    );
    const ofDatabase = {
      project: settings.project.value,
      verifyToken: verifyEachProject(rpc.chain, store, genesis),
    };
    const parts = { treasury: null, clock, store, chain, ...(isShared ? ofDatabase : {}) };
    return {
      engine: engineOver(opened, parts, keyring, options),
      ...{ chain: withSecondDecoder(chain), sender: rpc.sender, network: onCluster(genesis) },
      project: projectIn(store),
      close: () => opened.close(),
    };
  });
}

async function storeInDatabase(
  opened: Opened,
  { databasePool }: Settings,
  address: DatabaseAddress,
  upgrades: boolean,
): Promise<{ readonly store: Store; readonly genesis: string }> {
  const schema = upgrades ? 'update' : 'require';
  const store = opened.keep(await openDatabase(address, { ...connectionsOf(databasePool.value), schema }));
  const { genesis } = await store.progress();
  if (genesis !== null) return { store, genesis };
  throw new FlywheelError(
    'ERR_LOCAL_NOT_FOUND',
    `No project in the database ${address.shown} (${address.name}).`,
    { hint: 'Create one with `flywheel register`, or unset the database address.' },
  );
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

type LedgerOptions = EngineOptions & {
  readonly clock: Clock;
  /** @default waits as long as it is told to */
  readonly sleep?: Ambient['sleep'];
  /** @default that of the directory */
  readonly keyring?: OpenedKeyring;
};

/**
 * Opens store and ledger of a data directory, and makes them where there is no genesis yet.
 * @throws `ERR_STORE_UNAVAILABLE` when a file cannot be used.
 */
export const openLedgerEngine = (
  dataDir: string,
  config: LedgerConfig,
  options: LedgerOptions,
): Promise<LedgerEngine> =>
  opening(async (opened) => {
    const { store: _store, ...engine } = await openLedger(opened, dataDir, config, options);
    return engine;
  });

async function openLedger(
  opened: Opened,
  dataDir: string,
  config: LedgerConfig,
  options: LedgerOptions,
): Promise<LedgerEngine & Pick<EngineFiles, 'store'>> {
  const { clock, sleep = delay, between = (both) => both, findsGap = false } = options;
  const files = dataFiles(dataDir);
  const squadsProgram = config.squadsProgram ? { squadsProgram: readSquadsProgram(files.squadsProgram) } : {};
  const create = config.genesis === null;
  // Keeps others from wiping the directory.
  opened.keep(await shareDataDirectory(files.lock));
  let ledger: LocalChain | undefined;
  const ledgerMark = (): string => ledger?.knownMark ?? '';
  const ownStore = opened.keep(await openSqliteStore({ path: files.store, create, ledgerMark, clock }));
  ledger = opened.keep(
    await openLocalChain({
      ...{ path: files.ledger, clock, create, ...squadsProgram },
      genesis: { accounts: localGenesis(config.treasury) },
    }),
  );
  const { store, chain } = between({ store: ownStore, chain: ledger });
  await (findsGap ? findLedgerGap : requireTogether)(store, chain, config.genesis);
  const keyring = options.keyring ?? {
    ...{ ...createFileKeyring(files.keys), close: async () => {} },
  };
  const engine = engineOver(opened, { treasury: config.treasury, clock, store, chain }, keyring, options);
  return {
    ...{ engine, store, chain, sender: createSender(chain, { clock, sleep }) },
    network: { kind: 'ledger', name: null, genesisHash: chain.genesis },
    close: () => opened.close(),
  };
}
