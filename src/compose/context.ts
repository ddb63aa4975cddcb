/** Opens services for the command line: the embedded engine or the remote API, whichever the settings name. */
import type { OpenedService, Openers } from '../cli/context.js';

export const openService: Openers['openService'] = async (ambient, settings): Promise<OpenedService> => {
  if (settings.apiUrl.value === null) {
    const { openEmbeddedService } = await import('./embedded-service.js');
    return openEmbeddedService(ambient, settings);
  }
  const { openRemoteService } = await import('./remote-service.js');
  return openRemoteService(ambient, settings, settings.apiUrl.value);
};

export const checkRpc: Openers['checkRpc'] = async (ambient, settings) => {
  const { checkRpcNodes, effectiveSettings } = await import('./rpc.js');
  return checkRpcNodes(ambient, effectiveSettings(ambient, settings));
};

export const openRegistrar: Openers['openRegistrar'] = async (ambient, settings, cluster) => {
  const { createRegistrar } = await import('./registrar.js');
  return createRegistrar(ambient, settings, cluster);
};

export const openDatabase: Openers['openDatabase'] = async (ambient, settings) => {
  const { createDatabaseAdmin } = await import('./database-admin.js');
  return createDatabaseAdmin(ambient, settings);
};

export const effectiveSettings: Openers['effectiveSettings'] = async (ambient, settings) => {
  if (settings.apiUrl.value !== null) return settings;
  const { effectiveSettings: effective } = await import('./rpc.js');
  return effective(ambient, settings);
};

export const dataChain: Openers['dataChain'] = async (_ambient, settings) => {
  if (settings.apiUrl.value !== null) return null;
  const { databaseOf } = await import('./data-place.js');
  const address = databaseOf(settings);
  if (address !== null) return (await import('./database.js')).chainOfDatabase(address);
  const { chainOfData } = await import('./local-config.js');
  return chainOfData(settings.dataDir.value);
};

export const dataPins: Openers['dataPins'] = async (_ambient, settings) => {
  if (settings.apiUrl.value !== null) return null;
  const { databaseOf } = await import('./data-place.js');
  const address = databaseOf(settings);
  if (address !== null) return (await import('./project.js')).pinsInDatabase(address, settings);
  const { pinsOfData } = await import('./data-pins.js');
  return pinsOfData(settings.dataDir.value);
};

export const openLocal: Openers['openLocal'] = async (ambient, settings) => {
  const { createLocalAdmin } = await import('./local-admin.js');
  return createLocalAdmin({
    ...{ dataDir: settings.dataDir.value, cwd: ambient.cwd, clock: ambient.clock },
    openRpc: async () => (await import('./rpc.js')).openOwnRpc(ambient, settings),
    openOnCluster: async (config) =>
      (await import('./data-engine.js')).openOnCluster(ambient, settings, config),
    openInDatabase: async () => {
      if (settings.database.value === null) return null;
      const [{ databaseOf }, { openInDatabase }] = await Promise.all([
        import('./data-place.js'),
        import('./data-engine.js'),
      ]);
      const address = databaseOf(settings);
      return address === null ? null : openInDatabase(ambient, settings, address);
    },
    ownKeyFile: async ({ store }) => (await import('./project.js')).ownKeyFile(store, settings),
  });
};

export const startServer: Openers['startServer'] = async (ambient, settings, options) => {
  const { startServerOverEngine } = await import('./server.js');
  return startServerOverEngine(ambient, settings, options);
};

export const startLocalRpc: Openers['startLocalRpc'] = async (ambient, settings, terms) => {
  const { startRpcOverLedger } = await import('./rpc-node.js');
  return startRpcOverLedger(ambient, settings, terms);
};
