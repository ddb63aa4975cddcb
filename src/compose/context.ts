/** What the command line can open. Each import is lazy, so that a command loads only what it uses. */
import type { ListenAddress } from '../rpc-node/rpc-node.js';
import type { Clock } from '../values/time.js';
import type { RegistrationTerms } from './registration/registrar.js';
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
  /** @throws when `signal` is aborted */
  sleep(ms: number): Promise<void>;
  readonly io: { readonly stderr: { write(text: string): unknown } };
}

export type Openers = ReturnType<typeof createOpeners>;

export const createOpeners = (ambient: Ambient) => ({
  /** The embedded engine, or the remote API if the settings have its address. @param warn - receives warnings for the user */
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
  checkRpc: async (settings: Settings) => (await import('./rpc.js')).checkRpcNodes(ambient, settings),
  /** @param cluster - a name, or the address of a node. @returns the plan if the user does not agree to it */
  register: async (settings: Settings, cluster: string, terms: RegistrationTerms) =>
    (await import('./registration/registrar.js')).registerProject(ambient, settings, cluster, terms),
  /** @throws `ERR_CONFIG_INVALID` if the settings name no database */
  openDatabase: async (settings: Settings) =>
    (await import('./database-admin.js')).createDatabaseAdmin(ambient, settings),
  /** Reads configuration and store only, not the network. `null` without a project or in remote use. */
  dataChain: async (settings: Settings) =>
    settings.apiUrl.value === null ? (await import('./place.js')).chainOfPlace(settings) : null,
  /** The project's pins as it was registered. `null` without a project or in remote use. */
  dataPins: async (settings: Settings) =>
    settings.apiUrl.value === null ? (await import('./project.js')).pinsOfPlace(settings) : null,
  /** The settings completed by the data directory's own, such as the RPC nodes of its cluster. */
  effectiveSettings: async (settings: Settings) => (await import('./rpc.js')).effectiveSettings(settings),
});
