/** Builds an engine from store, chain and keys: for the embedded ledger, for a cluster, or for a database. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ChainReader } from '../chain/chain.js';
import { localGenesis } from '../chain/local/ledger/ledger.js';
import { type LocalChain, openLocalChain } from '../chain/local/local-chain.js';
import { withSecondDecoder } from '../chain/rpc/second-decoder.js';
import { type ChainSender, createSender } from '../chain/send.js';
import type { Measured } from '../contract/served-engine.js';
import {
  DEFAULT_LIMITS,
  type EngineEvent,
  type EngineLimits,
  type EngineParts,
  type Keyring,
} from '../engine/deps.js';
import { createEngine, type Engine } from '../engine/engine.js';
import { Leases } from '../engine/lease.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { processActor, processName } from '../files/process-identity.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { Store } from '../store/store.js';
import type { DatabaseAddress } from '../values/database-address.js';
import { randomIds } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import { requireSameCluster, verifyDirectory, verifyEachProject, verifyProgram } from './cluster-check.js';
import type { Ambient } from './context.js';
import { shareDataDirectory } from './data-lock.js';
import { checkedChain, measured } from './intercept.js';
import { createFileKeyring, openKeyring } from './keyring.js';
import { type ClusterConfig, dataFiles, type LocalConfig } from './local-config.js';
import { type Opened, opening } from './opened.js';
import { type DataChain, onCluster, openDatabase, requirePlace } from './place.js';
import { findProject, type Project } from './project.js';
import { openDataRpc } from './rpc.js';
import type { Settings } from './settings.js';
import { readSquadsProgram } from './squads-program.js';
import { requireTogether } from './two-files.js';

export interface LedgerEngine {
  readonly engine: Engine;
  /** Reads with the checks that approvals need. */
  readonly chain: ChainReader;
  readonly sender: ChainSender;
  readonly network: DataChain;
  close(): Promise<void>;
}

export interface OpenedEngine extends LedgerEngine {
  /** @throws as {@link findProject} */
  project(): Promise<Project>;
}

export interface EngineFiles {
  readonly store: Store;
  readonly chain: LocalChain;
}

export interface EngineOptions {
  readonly limits?: Partial<EngineLimits>;
  readonly onEvent?: (event: EngineEvent) => void;
  readonly onMeasured?: (measured: Measured) => void;
  /** Record transactions that the store lacks as a gap to be accepted, instead of refusing to open. @default false */
  readonly findsGap?: boolean;
  /** Wraps store and ledger, to inject delays and faults. @default nothing */
  readonly between?: (files: EngineFiles) => EngineFiles;
}

/** For servers: smaller commits cost some throughput, and keep each client's wait short. */
export const SHARED_LIMITS = {
  burnsPerCommit: 32,
  bundlesPerCommit: 4,
} as const satisfies Partial<EngineLimits>;

function engineOver(
  opened: Opened,
  parts: Pick<EngineParts, 'treasury' | 'project' | 'verifyToken' | 'clock' | 'store' | 'chain'>,
  keyring: Keyring,
  { limits, onMeasured, onEvent }: EngineOptions,
): Engine {
  const leases = new Leases(processName());
  // Leases end before the store closes, which waits for their last writes.
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
    /** Continue after an interrupt until the engine is closed. @default false */
    readonly outlivesSignal?: boolean;
    readonly upgrades?: boolean;
  } = {},
): Promise<OpenedEngine> {
  const place = requirePlace(settings);
  const { clock } = ambient;
  const stored = place.kind === 'cluster' ? place.config.signers : {};
  const projectIn = (store: Store) => () => store.read((tx) => findProject(tx, settings));
  return opening(async (opened) => {
    const keyring = openKeyring(opened, ambient, settings, stored, options.outlivesSignal);
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
  const store = opened.keep(await openDatabase(address, { connections: databasePool.value, schema }));
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

/** `local init` has no genesis until the ledger is created. */
type LedgerConfig = Pick<LocalConfig, 'treasury' | 'squadsProgram'> & {
  readonly genesis: string | null;
};

type LedgerOptions = EngineOptions & {
  readonly clock: Clock;
  readonly sleep?: Ambient['sleep'];
  readonly keyring?: Keyring;
};

/** Opens store and ledger; creates them if `config.genesis` is `null`. @throws `ERR_STORE_UNAVAILABLE` if a file cannot be used */
export const openLedgerEngine = (
  dataDir: string,
  config: LedgerConfig,
  options: LedgerOptions,
): Promise<LedgerEngine> => opening((opened) => openLedger(opened, dataDir, config, options));

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
  // Keeps other processes from deleting the directory.
  opened.keep(await shareDataDirectory(files.lock));
  let local: LocalChain | undefined;
  const ledgerMark = (): string => local?.ledger.knownMark ?? '';
  const ownStore = opened.keep(await openSqliteStore({ path: files.store, create, ledgerMark, clock }));
  local = opened.keep(
    await openLocalChain({
      ...{ path: files.ledger, clock, create, ...squadsProgram },
      genesis: { accounts: localGenesis(config.treasury) },
    }),
  );
  const { store, chain } = between({ store: ownStore, chain: local });
  await requireTogether(store, chain, config.genesis, findsGap);
  const keyring = options.keyring ?? createFileKeyring(files.keys);
  const engine = engineOver(opened, { treasury: config.treasury, clock, store, chain }, keyring, options);
  return {
    ...{ engine, store, chain, sender: createSender(chain, { clock, sleep }) },
    network: { kind: 'ledger', name: null, genesisHash: chain.ledger.genesis },
    close: () => opened.close(),
  };
}
