/** What the command line opens: services, administration, servers. Each is loaded when it is first asked for. */
import type { Pins } from '../approval/pins.js';
import type { NodeReport } from '../chain/node-address.js';
import type { DataChain } from '../contract/admin.js';
import type { DatabaseAdmin } from '../contract/database-admin.js';
import type { LocalAdmin } from '../contract/local-admin.js';
import type { Registrar } from '../contract/registration.js';
import type { ListenAddress } from '../rpc-node/rpc-node.js';
import type { Clock } from '../values/time.js';
import type { RunningRpc } from './rpc-node.js';
import type { RunningServer, ServeOptions } from './server.js';
import type { OpenedService } from './service.js';
import type { Settings } from './settings.js';

/** What comes from the process. */
export interface Ambient {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly cwd: string;
  readonly version: string;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** Waits. @throws when the signal is aborted. */
  sleep(ms: number): Promise<void>;
  /** Takes lines of logs. */
  readonly io: { readonly stderr: { write(text: string): unknown } };
}

export interface Openers {
  /** The embedded engine or the remote API, whichever the settings name. @param warn - takes what a person should know */
  openService(settings: Settings, warn: (text: string) => void): Promise<OpenedService>;
  openLocal(settings: Settings): Promise<LocalAdmin>;
  startServer(settings: Settings, options: ServeOptions): Promise<RunningServer>;
  startLocalRpc(settings: Settings, address: ListenAddress): Promise<RunningRpc>;
  /** Looks at each of the user's own RPC nodes, without a service. */
  checkRpc(settings: Settings): Promise<readonly NodeReport[]>;
  /** Registers a project of a cluster in the data directory. @param cluster - a name or the address of a node. */
  openRegistrar(settings: Settings, cluster: string): Promise<Registrar>;
  /** The database of the settings. @throws `ERR_CONFIG_INVALID` where none is named. */
  openDatabase(settings: Settings): Promise<DatabaseAdmin>;
  /** The chain of the data directory, read from its configuration alone; `null` where there is none, or the service is elsewhere. */
  dataChain(settings: Settings): Promise<DataChain | null>;
  /** What the flywheel of the data directory is held against, as it was registered; `null` where there is none, or the service is elsewhere. */
  dataPins(settings: Settings): Promise<Pins | null>;
  /** The settings with what the data directory that they name says: which nodes the cluster of its flywheel is reached through. */
  effectiveSettings(settings: Settings): Promise<Settings>;
}

export const createOpeners = (ambient: Ambient): Openers => ({
  openService: async (settings, warn) => {
    if (settings.apiUrl.value === null)
      return (await import('./embedded-service.js')).openEmbeddedService(ambient, settings);
    const { openRemoteService } = await import('./remote-service.js');
    return openRemoteService(ambient, settings, settings.apiUrl.value, { warn });
  },
  openLocal: async (settings) => (await import('./local-admin.js')).createLocalAdmin(ambient, settings),
  startServer: async (settings, options) =>
    (await import('./server.js')).startServer(ambient, settings, options),
  startLocalRpc: async (settings, terms) =>
    (await import('./rpc-node.js')).startRpcOverLedger(ambient, settings, terms),
  checkRpc: async (settings) => (await import('./rpc.js')).checkRpcNodes(ambient, settings),
  openRegistrar: async (settings, cluster) =>
    (await import('./registration/registrar.js')).createRegistrar(ambient, settings, cluster),
  openDatabase: async (settings) =>
    (await import('./database-admin.js')).createDatabaseAdmin(ambient, settings),
  dataChain: async (settings) =>
    settings.apiUrl.value === null ? (await import('./place.js')).chainOfPlace(settings) : null,
  dataPins: async (settings) =>
    settings.apiUrl.value === null ? (await import('./project.js')).pinsOfPlace(settings) : null,
  effectiveSettings: async (settings) => (await import('./rpc.js')).effectiveSettings(settings),
});
