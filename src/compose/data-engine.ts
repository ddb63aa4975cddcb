/** Opens the engine of a data directory on whichever chain its flywheel is. */
import type { Chain } from '../chain/chain.js';
import type { DatabaseAddress } from '../cli/config/database-address.js';
import { environmentNodes } from '../cli/config/resolve-rpc.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import { FlywheelError, invariant } from '../errors/flywheel-error.js';
import {
  engineOnCluster,
  type OpenedClusterEngine,
  openClusterEngine,
  verifyDatabase,
  verifyEachProject,
} from './cluster-engine.js';
import { requirePlace } from './data-place.js';
import { connectionsOf, type DatabaseTerms, openDatabase, requireGenesis } from './database.js';
import { type OpenEngineOptions, type OpenedEngine, openEngine } from './engine.js';
import { keyringOf } from './keyring-settings.js';
import { type ClusterConfig, isOnCluster } from './local-config.js';
import { Opened } from './opened.js';
import { type OwnRpc, openOwnRpc, type RpcTerms, withStoredNodes } from './rpc.js';

/** What is chosen where an engine is opened. */
export type DataEngineOptions = Omit<OpenEngineOptions, 'clock'> &
  Pick<RpcTerms, 'outlivesSignal'> & { readonly database?: Partial<DatabaseTerms> };

/** @throws `ERR_STORE_UNAVAILABLE`, `ERR_CONFIG_INVALID` for nodes that are none. */
export async function openOnCluster(
  ambient: Ambient,
  settings: Settings,
  config: ClusterConfig,
  { outlivesSignal = false, database: _none, ...options }: DataEngineOptions = {},
): Promise<OpenedClusterEngine> {
  const genesis = config.cluster.genesisHash;
  const rpc = openOwnRpc(ambient, withStoredNodes(ambient, settings, config), { genesis, outlivesSignal });
  invariant(rpc !== null, 'A data directory on a cluster names nodes.');
  const keys = keyringOf(ambient, settings, { outlivesSignal, stored: config.signers });
  return openClusterEngine(settings.dataDir.value, config, rpc, { ...options, keys, clock: ambient.clock });
}

/**
 * Opens the engine on a database, for all its projects.
 * @throws `ERR_LOCAL_NOT_FOUND` before `register`, `ERR_CONFIG_INVALID`, `ERR_STORE_UNAVAILABLE`
 */
export async function openInDatabase(
  ambient: Ambient,
  settings: Settings,
  address: DatabaseAddress,
  { outlivesSignal = false, database, ...options }: DataEngineOptions = {},
): Promise<OpenedClusterEngine & { readonly genesis: string }> {
  const opened = new Opened();
  try {
    const terms = { schema: 'require' as const, ...connectionsOf(settings.databasePool.value), ...database };
    const store = opened.keep(await openDatabase(address, terms));
    const genesis = await requireGenesis(store, address);
    const rpc = opened.keep(requireNodes(ambient, settings, { genesis, outlivesSignal }));
    const keys = keyringOf(ambient, settings, { outlivesSignal });
    const data = {
      ...{ store, rpc, close: () => opened.close() },
      check: () => verifyDatabase(rpc.chain, genesis),
    };
    const verifyToken = verifyEachProject(rpc.chain, store, genesis);
    const engine = { ...options, keys, verifyToken, clock: ambient.clock, project: settings.project.value };
    return { ...engineOnCluster(settings.dataDir.value, data, engine), genesis };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** The nodes of the settings: a database names none. @throws `ERR_CONFIG_INVALID` */
function requireNodes(ambient: Ambient, settings: Settings, terms: RpcTerms): OwnRpc {
  const named = { ...settings, rpcUrl: environmentNodes(ambient) ?? settings.rpcUrl };
  const rpc = openOwnRpc(ambient, settings.rpcUrl.source === 'flag' ? settings : named, terms);
  if (rpc !== null) return rpc;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    'No RPC node is named that reaches the chain of the database.',
    {
      hint: 'Name nodes with FLYWHEEL_RPC_URL, --rpc-url or rpcUrl of the profile.',
    },
  );
}

/** An engine on either chain. */
export interface OpenedDataEngine extends OpenedEngine<Chain> {
  /** Asks a cluster now whether it is the one of the flywheel; a local ledger has been asked. */
  verify(): Promise<void>;
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done; as {@link openEngine}, {@link openOnCluster} and {@link openInDatabase}. */
export async function openDataEngine(
  ambient: Ambient,
  settings: Settings,
  options: DataEngineOptions = {},
): Promise<OpenedDataEngine> {
  const place = requirePlace(settings);
  if (place.kind === 'database') return openInDatabase(ambient, settings, place.address, options);
  const { config } = place;
  if (isOnCluster(config)) return openOnCluster(ambient, settings, config, options);
  const keys = keyringOf(ambient, settings, options);
  const opened = await openEngine(settings.dataDir.value, config, { ...options, keys, clock: ambient.clock });
  return { ...opened, verify: async () => {} };
}
