/** The embedded engine as a command sees it: the service, its key, its chain, and the flywheel to trust. */
import type { Flywheel } from '../chain/flywheel.js';
import { createLocalSender } from '../chain/local/local-sender.js';
import { LOCAL_CHAIN } from '../chain/wallet-chain.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient, OpenedService } from '../cli/context.js';
import { flywheelOf } from '../engine/batches/batch-context.js';
import type { Store } from '../store/store.js';
import { type OpenEngineOptions, openEngine } from './engine.js';
import { journalPlace } from './journal-place.js';
import { readApiKey, requireLocalConfig } from './local-config.js';
import { openSimulator, pinsOf, registeredPins } from './pinned.js';

/** @throws `ERR_LOCAL_NOT_FOUND` before `local init`. */
export async function openEmbeddedService(
  ambient: Ambient,
  settings: Settings,
  options: Omit<OpenEngineOptions, 'clock'> = {},
): Promise<OpenedService> {
  const dataDir = settings.dataDir.value;
  const config = requireLocalConfig(dataDir);
  const { engine, chain, store, close } = await openEngine(dataDir, config, {
    ...options,
    clock: ambient.clock,
  });
  const operations = journalPlace(ambient, dataDir, {
    place: `embedded:${config.genesis ?? ''}`,
    profile: '',
  });
  const trusted = await readTrusted(store);
  const given = settings.pinned.value;
  let pins =
    settings.pinned.source === 'flag' && given !== null
      ? pinsOf(given)
      : trusted && registeredPins(trusted.flywheel);
  return {
    kind: 'embedded',
    service: engine,
    credential: settings.apiKey.value ?? readApiKey(dataDir),
    chain,
    sender: createLocalSender(chain, ambient),
    walletChain: async () => LOCAL_CHAIN,
    history: chain,
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
    journal: operations.journal,
    close: async () => {
      await operations.close();
      await close();
    },
  };
}

interface Registered {
  readonly flywheel: Flywheel;
  readonly symbol: string;
}

/** The flywheel of the data directory: who holds the directory holds its keys, so there is none to doubt. */
async function readTrusted(store: Store): Promise<Registered | null> {
  return store.read(async (tx) => {
    const [token] = await tx.tokens.list();
    const flywheel = token === undefined ? undefined : await tx.flywheels.ofToken(token.id);
    if (token === undefined || flywheel === undefined) return null;
    return { flywheel: flywheelOf(token, flywheel), symbol: token.symbol };
  });
}
