/** What the command line opens: services, administration, servers. Each is loaded when it is first asked for. */
import type { RegistrationTerms } from '../contract/registration.js';
import type { ListenAddress } from '../rpc-node/rpc-node.js';
import type { Clock } from '../values/time.js';
import type { RunningServer, ServeOptions } from './server.js';
import type { OpenedService } from './service.js';
import type { Settings } from './settings.js';

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

export type Openers = ReturnType<typeof createOpeners>;

export const createOpeners = (ambient: Ambient) => ({
  /** The embedded engine or the remote API, whichever the settings name. @param warn - takes what a person should know */
  openService: async (settings: Settings, warn: (text: string) => void): Promise<OpenedService> => {
    if (settings.apiUrl.value === null)
      return (await import('./embedded-service.js')).openEmbeddedService(ambient, settings);
    const { openRemoteService } = await import('./remote-service.js');
    return openRemoteService(ambient, settings, settings.apiUrl.value, { warn });
  },
  openLocal: async (settings: Settings) =>
    (await import('./local-admin.js')).createLocalAdmin(ambient, settings),
  startServer: async (settings: Settings, options: ServeOptions): Promise<RunningServer> =>
    (await import('./server.js')).startServer(ambient, settings, options),
  startLocalRpc: async (settings: Settings, address: ListenAddress) =>
    (await import('./rpc-node.js')).startRpcOverLedger(ambient, settings, address),
  /** Looks at each of the user's own RPC nodes, without a service. */
  checkRpc: async (settings: Settings) => (await import('./rpc.js')).checkRpcNodes(ambient, settings),
  /** Registers a project of a cluster. @param cluster - a name or the address of a node. @returns the plan where nobody agrees */
  register: async (settings: Settings, cluster: string, terms: RegistrationTerms) =>
    (await import('./registration/registrar.js')).registerProject(ambient, settings, cluster, terms),
  /** The database of the settings. @throws `ERR_CONFIG_INVALID` where none is named. */
  openDatabase: async (settings: Settings) =>
    (await import('./database-admin.js')).createDatabaseAdmin(ambient, settings),
  /** The chain of the data directory, read from its configuration alone; `null` where there is none, or the service is elsewhere. */
  dataChain: async (settings: Settings) =>
    settings.apiUrl.value === null ? (await import('./place.js')).chainOfPlace(settings) : null,
  /** What the flywheel of the data directory is held against, as it was registered; `null` where there is none, or the service is elsewhere. */
  dataPins: async (settings: Settings) =>
    settings.apiUrl.value === null ? (await import('./project.js')).pinsOfPlace(settings) : null,
  /** The settings with what the data directory that they name says: which nodes the cluster of its flywheel is reached through. */
  effectiveSettings: async (settings: Settings) => (await import('./rpc.js')).effectiveSettings(settings),
});
