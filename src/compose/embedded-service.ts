/** The embedded engine as a command sees it, on its own ledger or a cluster: the service, its key, its chain, the flywheel to trust. */
import type { Pins } from '../approval/pins.js';
import type { Chain, ChainReader, History } from '../chain/chain.js';
import type { Flywheel } from '../chain/flywheel.js';
import { createLocalSender } from '../chain/local/local-sender.js';
import { clusterName } from '../chain/node-address.js';
import { LOCAL_CHAIN, walletChain } from '../chain/wallet-chain.js';
import type { DatabaseAddress } from '../cli/config/database-address.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient, OpenedService } from '../cli/context.js';
import { commandLine } from '../cli/operation/resume-line.js';
import { plainStyle } from '../cli/output/color.js';
import { warningLines } from '../cli/output/output.js';
import type { Secret } from '../values/secret.js';
import type { OpenedClusterEngine } from './cluster-engine.js';
import { type Registered, readRegistered } from './data-pins.js';
import { requirePlace } from './data-place.js';
import { type OpenEngineOptions, type OpenedEngine, openEngine } from './engine.js';
import { flywheelText, journalPlace } from './journal-place.js';
import { keyringOf } from './keyring-settings.js';
import { type ClusterConfig, isOnCluster, type LocalConfig, readApiKey } from './local-config.js';
import { withPatience } from './patience.js';
import { openSimulator, pinsOf, registeredPins } from './pinned.js';

/** What differs between the embedded ledger and a cluster. */
interface Backing extends Pick<OpenedService, 'sender' | 'walletChain' | 'explorer'> {
  readonly opened: OpenedEngine<Chain>;
  /** What a batch is checked against: the chain, as carefully as it has to be read. */
  readonly reader: ChainReader & History;
  /** Which chain the operations of the journal are of. */
  readonly place: string;
  readonly credential: Secret | null;
  readonly trusted: Registered | null;
  pinsOf(flywheel: Flywheel): Pins;
  /** The project that is meant, where there may be others. */
  readonly tokenId?: string | null;
}

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done. */
export async function openEmbeddedService(
  ambient: Ambient,
  settings: Settings,
  options: Omit<OpenEngineOptions, 'clock'> = {},
): Promise<OpenedService> {
  return serviceOver(ambient, settings, await openBacking(ambient, settings, options));
}

async function openBacking(
  ambient: Ambient,
  settings: Settings,
  options: Omit<OpenEngineOptions, 'clock'>,
): Promise<Backing> {
  const place = requirePlace(settings);
  if (place.kind === 'database') return inDatabase(ambient, settings, place.address, options);
  const { config } = place;
  return isOnCluster(config)
    ? onCluster(ambient, settings, config, options)
    : onLedger(ambient, settings, config, options);
}

async function onLedger(
  ambient: Ambient,
  settings: Settings,
  config: LocalConfig,
  options: Omit<OpenEngineOptions, 'clock'>,
): Promise<Backing> {
  const keys = keyringOf(ambient, settings);
  const opened = await openEngine(settings.dataDir.value, config, { ...options, keys, clock: ambient.clock });
  return {
    opened,
    reader: opened.chain,
    sender: createLocalSender(opened.chain, ambient),
    walletChain: async () => LOCAL_CHAIN,
    explorer: null,
    place: `embedded:${config.genesis}`,
    credential: credentialOf(settings),
    trusted: await opened.store.read(readRegistered),
    pinsOf: registeredPins,
  };
}

async function onCluster(
  ambient: Ambient,
  settings: Settings,
  config: ClusterConfig,
  options: Omit<OpenEngineOptions, 'clock'>,
): Promise<Backing> {
  const { openOnCluster } = await import('./data-engine.js');
  const opened = await openOnCluster(ambient, settings, config, options);
  const { genesisHash, mint, facts } = config.cluster;
  return overCluster(ambient, settings, opened, genesisHash, async () => ({
    place: `cluster:${genesisHash}:${mint}`,
    credential: credentialOf(settings),
    trusted: await opened.store.read(readRegistered),
    pinsOf: (flywheel) => ({ ...registeredPins(flywheel), facts }),
  }));
}

async function inDatabase(
  ambient: Ambient,
  settings: Settings,
  address: DatabaseAddress,
  options: Omit<OpenEngineOptions, 'clock'>,
): Promise<Backing> {
  const { openInDatabase } = await import('./data-engine.js');
  const { findProject } = await import('./project.js');
  const opened = await openInDatabase(ambient, settings, address, options);
  const { genesis } = opened;
  return overCluster(ambient, settings, opened, genesis, async () => {
    const { credential, registered, facts, tokenId } = await findProject(opened.store, settings);
    return {
      // The same operations as those of a data directory that the project may have come from.
      place: `cluster:${genesis}:${registered?.flywheel.mint ?? ''}`,
      credential,
      trusted: registered,
      tokenId,
      pinsOf: (flywheel) => ({ ...registeredPins(flywheel), ...(facts === null ? {} : { facts }) }),
    };
  });
}

/** What is the same for every flywheel on a cluster. Closes it again when something is wrong. */
async function overCluster(
  ambient: Ambient,
  settings: Settings,
  opened: OpenedClusterEngine,
  genesisHash: string,
  own: () => Promise<Pick<Backing, 'place' | 'credential' | 'trusted' | 'pinsOf' | 'tokenId'>>,
): Promise<Backing> {
  try {
    const { withSecondDecoder } = await import('../chain/rpc/second-decoder.js');
    const project = await own();
    await tellOfForks(ambient, settings, opened, project);
    return {
      opened,
      reader: withSecondDecoder(opened.chain),
      sender: opened.rpc.sender,
      walletChain: async () => walletChain(genesisHash),
      explorer: clusterName(genesisHash),
      ...project,
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

const credentialOf = ({ apiKey, dataDir }: Settings): Secret | null =>
  apiKey.value ?? readApiKey(dataDir.value);

/** What a fork took back of the project that is meant, since the last command, is pending again, and said. */
async function tellOfForks(
  { io }: Ambient,
  settings: Settings,
  { engine }: Pick<OpenedEngine<Chain>, 'engine'>,
  { tokenId = null }: Pick<Backing, 'tokenId'>,
): Promise<void> {
  const undone = await engine.watch({ tokenId });
  if (undone === 0) return;
  const text = `The chain has taken back ${undone} that had landed; they are pending again. \`${commandLine(settings, 'pending', 'resume')}\` brings them to their end.`;
  const lines = warningLines(text, settings.messages, plainStyle(io.stderr.columns), io.stderr);
  io.stderr.write(`${lines.join('\n')}\n`);
}

async function serviceOver(ambient: Ambient, settings: Settings, backing: Backing): Promise<OpenedService> {
  const dataDir = settings.dataDir.value;
  const { engine, chain, close } = backing.opened;
  const { trusted, tokenId = null } = backing;
  const given = settings.pinned.value;
  let pins =
    settings.pinned.source === 'flag' && given !== null
      ? pinsOf(given)
      : trusted && backing.pinsOf(trusted.flywheel);
  const operations = journalPlace(ambient, dataDir, { address: backing.place, flywheel: flywheelText(pins) });
  return {
    kind: 'embedded',
    // A local ledger is never waited for.
    service: chain.pollMs === null ? engine : withPatience(engine, settings.waitSeconds.value * 1_000),
    credential: backing.credential,
    chain: backing.reader,
    sender: backing.sender,
    walletChain: backing.walletChain,
    isOnThisMachine: chain.pollMs === null,
    explorer: backing.explorer,
    history: backing.reader,
    trusted: async () => trusted?.flywheel ?? null,
    get pins() {
      return pins;
    },
    confirm: (confirmed) => {
      pins = confirmed;
    },
    symbol: trusted?.symbol ?? null,
    simulator: openSimulator,
    foresight: engine.foresight,
    recovery: {
      unfinished: () => engine.recovery.unfinished({ tokenId }),
      finish: (terms) => engine.recovery.finish({ ...terms, tokenId }),
    },
    journal: operations.journal,
    close: async () => {
      await operations.close();
      await close();
    },
  };
}
