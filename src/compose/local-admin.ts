/** What can be done with the flywheel of the settings beside calling its service; the engine is opened when it is first needed. */
import { resolve } from 'node:path';
import { clusterName } from '../chain/node-address.js';
import type { FetchedProgram, LocalAdmin } from '../contract/local-admin.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { writeFileAtomic } from '../files/write-file.js';
import type { Ambient } from './context.js';
import { ownDataDirectory } from './data-lock.js';
import { fetchSquads } from './fetch-squads.js';
import { acceptLedgerGap, gapReport, ledgerGap } from './ledger-gap.js';
import {
  dataFiles,
  exists,
  isOnCluster,
  PRIVATE_FILE_MODE,
  readDataConfig,
  readOwner,
  requireDataConfig,
  requireLocalConfig,
  wipeDataDirectory,
} from './local-config.js';
import { initLocal } from './local-init.js';
import { type OpenedEngine, openEngine } from './open-engine.js';
import { databaseOf } from './place.js';
import { openOwnRpc } from './rpc.js';
import type { Settings } from './settings.js';

export function createLocalAdmin(ambient: Ambient, settings: Settings): LocalAdmin {
  const { value: dataDir } = settings.dataDir;
  const { clock, cwd } = ambient;
  let opened: Promise<OpenedEngine> | undefined;
  const open = (): Promise<OpenedEngine> => {
    opened ??= openEngine(ambient, settings);
    return opened;
  };
  const engine = async () => (await open()).engine;
  const close = async (): Promise<void> => {
    const closing = opened;
    opened = undefined;
    await closing?.then((it) => it.close());
  };
  /** Of a ledger, whose engine is not opened while store and ledger do not belong together. */
  const ledger = () => {
    const config = databaseOf(settings) === null ? readDataConfig(dataDir) : undefined;
    return config === undefined || isOnCluster(config) ? null : { dataDir, config, clock };
  };
  return {
    init: (input) => initLocal(dataDir, clock, input),
    status: async () => {
      const config = requireDataConfig(dataDir);
      const { tokenGeneration: _generation, owner: address, ...status } = await (await engine()).status();
      const keypair = isOnCluster(config) ? null : config.ownerKeypair;
      return { ...status, owner: { address, keypair } };
    },
    vault: async () => {
      const it = await open();
      const cluster = it.rpc === null ? null : { name: clusterName(it.genesis), genesisHash: it.genesis };
      return { cluster, ...(await it.engine.vault()) };
    },
    fund: async (input) => {
      requireLocalConfig(dataDir);
      return (await engine()).fund(input);
    },
    fetchSquads: () => fetchFromCluster(ambient, settings),
    reset: async () => {
      await close();
      requireWipeable(dataDir);
      const lock = await ownDataDirectory(dataFiles(dataDir).lock);
      try {
        wipeDataDirectory(dataDir);
      } finally {
        lock.close();
      }
    },
    createKey: async (input) => (await engine()).createKey(input),
    listKeys: async () => (await engine()).listKeys(),
    revokeKey: async (id, afterMs) => (await engine()).revokeKey(id, afterMs),
    gap: async () => {
      const place = ledger();
      if (place !== null) return ledgerGap(place);
      const found = await (await engine()).gaps.find();
      return found === null ? null : gapReport(found);
    },
    acceptGap: async (transactions) => {
      const place = ledger();
      if (place === null) await (await engine()).gaps.accept(transactions);
      else await acceptLedgerGap(place, transactions);
    },
    audit: async (query) => (await engine()).audit(query),
    exportOwner: async (outFile) => {
      const { bytes, address } = readOwner(requireLocalConfig(dataDir).ownerKeypair);
      const keypair = resolve(cwd, outFile);
      const options = { mode: PRIVATE_FILE_MODE, exclusive: true };
      writeFileAtomic(keypair, keypairText(bytes), 'ERR_INPUT_INVALID', options);
      bytes.fill(0);
      return { address, keypair };
    },
    close,
  };
}

/** The keys of a flywheel on a cluster move what lies there: they are not wiped with a word. */
function requireWipeable(dataDir: string): void {
  const { unfinished, registration } = dataFiles(dataDir);
  if (readDataConfig(dataDir) === undefined && exists(unfinished) && !exists(registration)) return;
  if (!isOnCluster(requireDataConfig(dataDir))) return;
  throw new FlywheelError(
    'ERR_USAGE',
    `The flywheel in ${dataDir} is on a cluster: its keys are the operator's and the burn wallet's, and what they hold would be lost with them. Nothing was removed.`,
    {
      hint: 'See that nothing is pending (`flywheel pending`, `flywheel batch list`), move what the keys hold, then remove the directory yourself.',
    },
  );
}

async function fetchFromCluster(ambient: Ambient, settings: Settings): Promise<FetchedProgram> {
  const rpc = openOwnRpc(ambient, settings);
  try {
    return await fetchSquads(settings.dataDir.value, () => {
      if (rpc !== null) return rpc.reader;
      throw new FlywheelError('ERR_USAGE', 'No RPC node is named that the program could be taken from.', {
        hint: 'Name one with --rpc-url mainnet, or FLYWHEEL_RPC_URL.',
      });
    });
  } finally {
    await rpc?.close();
  }
}
