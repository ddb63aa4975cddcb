/** Opens the engine of a data directory on whichever chain its flywheel is. */
import type { Chain } from '../chain/chain.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import { invariant } from '../errors/flywheel-error.js';
import { type OpenedClusterEngine, openClusterEngine } from './cluster-engine.js';
import { type OpenEngineOptions, type OpenedEngine, openEngine } from './engine.js';
import { keyringOf } from './keyring-settings.js';
import { type ClusterConfig, isOnCluster, requireDataConfig } from './local-config.js';
import { openOwnRpc, type RpcTerms, withStoredNodes } from './rpc.js';

/** What is chosen where an engine is opened. */
export type DataEngineOptions = Omit<OpenEngineOptions, 'clock'> & Pick<RpcTerms, 'outlivesSignal'>;

/** @throws `ERR_STORE_UNAVAILABLE`, `ERR_CONFIG_INVALID` for nodes that are none. */
export async function openOnCluster(
  ambient: Ambient,
  settings: Settings,
  config: ClusterConfig,
  { outlivesSignal = false, ...options }: DataEngineOptions = {},
): Promise<OpenedClusterEngine> {
  const genesis = config.cluster.genesisHash;
  const rpc = openOwnRpc(ambient, withStoredNodes(ambient, settings, config), { genesis, outlivesSignal });
  invariant(rpc !== null, 'A data directory on a cluster names nodes.');
  const keys = keyringOf(ambient, settings, { outlivesSignal, stored: config.signers });
  return openClusterEngine(settings.dataDir.value, config, rpc, { ...options, keys, clock: ambient.clock });
}

/** An engine on either chain. */
export interface OpenedDataEngine extends OpenedEngine<Chain> {
  /** Asks a cluster now whether it is the one of this data directory; a local ledger has been asked. */
  verify(): Promise<void>;
}

/** @throws `ERR_LOCAL_NOT_FOUND` before `local init` or `register`; as {@link openEngine} and {@link openOnCluster}. */
export async function openDataEngine(
  ambient: Ambient,
  settings: Settings,
  options: DataEngineOptions = {},
): Promise<OpenedDataEngine> {
  const dataDir = settings.dataDir.value;
  const config = requireDataConfig(dataDir);
  if (isOnCluster(config)) return openOnCluster(ambient, settings, config, options);
  const keys = keyringOf(ambient, settings, options);
  const opened = await openEngine(dataDir, config, { ...options, keys, clock: ambient.clock });
  return { ...opened, verify: async () => {} };
}
