/** `flywheel local …`: sets up a data directory in one step and looks after it. */
import type { Chain } from '../chain/chain.js';
import { clusterName } from '../chain/node-address.js';
import type { FetchedProgram, LocalAdmin, LocalVaultResult } from '../cli/context.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Clock } from '../values/time.js';
import { ownDataDirectory } from './data-lock.js';
import { type OpenedEngine, openEngine } from './engine.js';
import { fetchSquads } from './fetch-squads.js';
import { gapOfEngine, gapOfLedger, type LedgerPlace } from './gaps.js';
import {
  type BegunConfig,
  type ClusterConfig,
  dataFiles,
  isOnCluster,
  readDataConfig,
  requireBegunConfig,
  requireDataConfig,
  requireLocalConfig,
  wipeDataDirectory,
} from './local-config.js';
import { initLocal } from './local-init.js';
import { exportOwner } from './owner-keypair.js';
import { rotateKeyInFile } from './rotate-key.js';
import type { OwnRpc } from './rpc.js';

export interface LocalPlace {
  readonly dataDir: string;
  readonly cwd: string;
  readonly clock: Clock;
  /** The cluster of the user's own node; `null` where none is named. */
  readonly openRpc: () => Promise<OwnRpc | null>;
  /** Opens the engine of a data directory that is on a cluster. */
  readonly openOnCluster: (config: ClusterConfig) => Promise<OpenedEngine<Chain>>;
  /** Opens that of a database, for what is about any flywheel; `null` where none is named. @default none is */
  readonly openInDatabase?: () => Promise<OpenedEngine<Chain> | null>;
  /** File of the API key that commands of this machine use. @default that of the data directory */
  readonly ownKeyFile?: (opened: OpenedEngine<Chain>) => Promise<string>;
}

/** What can be done with the flywheel of a data directory; the engine is opened when it is first needed. */
export function createLocalAdmin(place: LocalPlace): LocalAdmin {
  const { dataDir, clock } = place;
  let opened: Promise<OpenedEngine<Chain>> | undefined;
  const openWith = (config: BegunConfig): Promise<OpenedEngine<Chain>> => {
    opened ??= isOnCluster(config) ? place.openOnCluster(config) : openEngine(dataDir, config, { clock });
    return opened;
  };
  const open = async (): Promise<OpenedEngine<Chain>> => openWith(requireDataConfig(dataDir));
  const openAny = async (): Promise<OpenedEngine<Chain>> => {
    if (opened !== undefined) return opened;
    const elsewhere = await place.openInDatabase?.();
    if (elsewhere == null) return open();
    opened = Promise.resolve(elsewhere);
    return elsewhere;
  };
  const engine = async () => (await open()).engine;
  const close = async (): Promise<void> => {
    const closing = opened;
    opened = undefined;
    await closing?.then((it) => it.close());
  };
  return {
    init: (input) => initLocal(place, input, openWith),
    status: async () => {
      const { name, symbol, ...status } = await (await engine()).status();
      const { tokenGeneration: _generation, owner: address, ...rest } = status;
      const config = requireDataConfig(dataDir);
      const keypair = isOnCluster(config) ? null : config.ownerKeypair;
      return { ...rest, name, symbol, owner: { address, keypair } };
    },
    vault: async () => vaultOf(await openAny()),
    fund: async (input) => {
      requireLocalConfig(dataDir);
      return (await engine()).fund(input);
    },
    fetchSquads: () => fetchFromCluster(place),
    reset: async () => {
      await close();
      refuseWipe(dataDir);
      const lock = await ownDataDirectory(dataFiles(dataDir).lock);
      try {
        wipeDataDirectory(dataDir);
      } finally {
        lock.release();
      }
    },
    createKey: async (input) => (await openAny()).engine.createKey(input),
    listKeys: async () => (await openAny()).engine.listKeys(),
    revokeKey: async (id) => (await openAny()).engine.revokeKey(id),
    rotateKey: async (input) => {
      const it = await openAny();
      return rotateKeyInFile(dataDir, it.engine, input, await place.ownKeyFile?.(it));
    },
    gap: async () => {
      const ledger = ledgerOf(place);
      return ledger === null ? gapOfEngine(await openAny()) : gapOfLedger(ledger);
    },
    acceptGap: async (transactions) => {
      const ledger = ledgerOf(place);
      if (ledger === null) await (await openAny()).engine.gaps.accept(transactions);
      else await gapOfLedger(ledger, transactions);
    },
    audit: async (query) => (await openAny()).engine.audit(query),
    exportOwner: async (outFile) => exportOwner(place, outFile),
    close,
  };
}

/** `null` where the flywheel is on a cluster. */
function ledgerOf({ dataDir, clock }: LocalPlace): LedgerPlace | null {
  const config = readDataConfig(dataDir);
  return config === undefined || isOnCluster(config) ? null : { dataDir, config, clock };
}

async function vaultOf({ engine, store, chain }: OpenedEngine<Chain>): Promise<LocalVaultResult> {
  const { genesis } = await store.progress();
  // A local ledger is never waited for.
  const cluster =
    chain.pollMs === null || genesis === null ? null : { name: clusterName(genesis), genesisHash: genesis };
  return { cluster, ...(await engine.vault()) };
}

/** The keys of a flywheel on a cluster move what lies there: they are not wiped with a word. */
function refuseWipe(dataDir: string): void {
  if (!isOnCluster(requireBegunConfig(dataDir))) return;
  throw new FlywheelError(
    'ERR_USAGE',
    `The flywheel in ${dataDir} is on a cluster: its keys are the operator's and the burn wallet's, and what they hold would be lost with them. Nothing was removed.`,
    {
      hint: 'See that nothing is pending (`flywheel pending`, `flywheel batch list`), move what the keys hold, then remove the directory yourself.',
    },
  );
}

async function fetchFromCluster({ dataDir, openRpc }: LocalPlace): Promise<FetchedProgram> {
  const rpc = await openRpc();
  try {
    return await fetchSquads(dataDir, () => {
      if (rpc !== null) return rpc.reader;
      throw new FlywheelError('ERR_USAGE', 'No RPC node is named that the program could be taken from.', {
        hint: 'Name one with --rpc-url mainnet, or FLYWHEEL_RPC_URL.',
      });
    });
  } finally {
    await rpc?.close();
  }
}
