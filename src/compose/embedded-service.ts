/** The embedded engine as a command sees it, on its own ledger or a cluster: the service, its key, its chain, the flywheel to trust. */
import type { Pins } from '../approval/pins.js';
import type { Chain, ChainReader, History } from '../chain/chain.js';
import type { Flywheel } from '../chain/flywheel.js';
import { createLocalSender } from '../chain/local/local-sender.js';
import { clusterName } from '../chain/node-address.js';
import { LOCAL_CHAIN, walletChain } from '../chain/wallet-chain.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient, OpenedService } from '../cli/context.js';
import { plainStyle } from '../cli/output/color.js';
import { warningLines } from '../cli/output/output.js';
import { readRegistered } from './data-pins.js';
import { type OpenEngineOptions, type OpenedEngine, openEngine } from './engine.js';
import { journalPlace } from './journal-place.js';
import { keyringOf } from './keyring-settings.js';
import {
  type ClusterConfig,
  isOnCluster,
  type LocalConfig,
  readApiKey,
  requireDataConfig,
} from './local-config.js';
import { withPatience } from './patience.js';
import { openSimulator, pinsOf, registeredPins } from './pinned.js';

/** What differs between the embedded ledger and a cluster. */
interface Backing extends Pick<OpenedService, 'sender' | 'walletChain' | 'explorer'> {
  readonly opened: OpenedEngine<Chain>;
  /** What a batch is checked against: the chain, as carefully as it has to be read. */
  readonly reader: ChainReader & History;
  /** Which chain the operations of the journal are of. */
  readonly place: string;
  pinsOf(flywheel: Flywheel): Pins;
}

/** @throws `ERR_LOCAL_NOT_FOUND` before `local init` or `register`. */
export async function openEmbeddedService(
  ambient: Ambient,
  settings: Settings,
  options: Omit<OpenEngineOptions, 'clock'> = {},
): Promise<OpenedService> {
  const config = requireDataConfig(settings.dataDir.value);
  const backing = isOnCluster(config)
    ? await onCluster(ambient, settings, config, options)
    : await onLedger(ambient, settings, config, options);
  return serviceOver(ambient, settings, backing);
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
    place: `embedded:${config.genesis ?? ''}`,
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
  const { withSecondDecoder } = await import('../chain/rpc/second-decoder.js');
  const opened = await openOnCluster(ambient, settings, config, options);
  await tellOfForks(ambient, settings, opened);
  const { genesisHash, mint, facts } = config.cluster;
  return {
    opened,
    reader: withSecondDecoder(opened.chain),
    sender: opened.rpc.sender,
    walletChain: async () => walletChain(genesisHash),
    explorer: clusterName(genesisHash),
    place: `cluster:${genesisHash}:${mint}`,
    pinsOf: (flywheel) => ({ ...registeredPins(flywheel), facts }),
  };
}

/** What a fork took back since the last command is pending again, and said. @throws what makes the directory unusable, which is closed then. */
async function tellOfForks(
  { io }: Ambient,
  { output }: Settings,
  { engine, close }: Pick<OpenedEngine<Chain>, 'engine' | 'close'>,
): Promise<void> {
  try {
    const undone = await engine.watch();
    if (undone === 0) return;
    const text = `The chain has taken back ${undone} that had landed; they are pending again. \`flywheel pending resume\` brings them to their end.`;
    const lines = warningLines(text, output, plainStyle(io.stderr.columns), io.stderr);
    io.stderr.write(`${lines.join('\n')}\n`);
  } catch (error) {
    await close();
    throw error;
  }
}

async function serviceOver(ambient: Ambient, settings: Settings, backing: Backing): Promise<OpenedService> {
  const dataDir = settings.dataDir.value;
  const { engine, chain, store, close } = backing.opened;
  const operations = journalPlace(ambient, dataDir, { place: backing.place, profile: '' });
  const trusted = await store.read(readRegistered);
  const given = settings.pinned.value;
  let pins =
    settings.pinned.source === 'flag' && given !== null
      ? pinsOf(given)
      : trusted && backing.pinsOf(trusted.flywheel);
  return {
    kind: 'embedded',
    // A local ledger is never waited for.
    service: chain.pollMs === null ? engine : withPatience(engine, settings.waitSeconds.value * 1_000),
    credential: settings.apiKey.value ?? readApiKey(dataDir),
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
    recovery: engine.recovery,
    journal: operations.journal,
    rawApi: async () => (await import('./raw-api.js')).openRawApi(ambient, settings, engine),
    close: async () => {
      await operations.close();
      await close();
    },
  };
}
