/** A remote API as a command's service: client, API key, the user's RPC nodes, and the profile's pins. */
import type { Pins } from '../approval/pins.js';
import type { ChainReader, Flywheel } from '../chain/chain.js';
import { requireQuorum, walletChain } from '../chain/node-address.js';
import { createRemoteService, type RemoteServiceDeps } from '../client/remote-service.js';
import { FlywheelError, invariant } from '../errors/flywheel-error.js';
import { servicePlace } from '../values/host.js';
import { randomIds } from '../values/ids.js';
import type { Ambient } from './context.js';
import { httpEnvironment, type OwnRpc } from './rpc.js';
import { flywheelText, type OpenedService, openSimulator } from './service.js';
import type { Settings } from './settings.js';

interface RemoteWays extends Partial<Pick<RemoteServiceDeps, 'transport' | 'sleep' | 'random'>> {
  readonly warn: (text: string) => void;
  readonly chain?: ChainReader;
}

/** Sends nothing before the first call. */
export async function openRemoteService(
  ambient: Ambient,
  settings: Settings,
  baseUrl: string,
  { chain: ownChain, warn, ...ways }: RemoteWays,
): Promise<OpenedService> {
  const rpc = ownChain === undefined ? await rpcOf(ambient, settings) : null;
  const chain = ownChain ?? rpc?.reader ?? null;
  const service = createRemoteService({
    ...{ baseUrl, apiKeyHeader: settings.apiKeyHeader.value, userAgent: `flywheel/${ambient.version}` },
    ...{ clock: ambient.clock, random: Math.random, ids: randomIds, onWarning: warn },
    requestTimeoutMs: settings.timeoutSeconds.value * 1_000,
    totalTimeoutMs: settings.waitSeconds.value * 1_000,
    maxWaitMs: settings.maxWaitSeconds.value * 1_000,
    ...(settings.verbose ? { onHttpLog: (line) => void ambient.io.stderr.write(`${line}\n`) } : {}),
    ...httpEnvironment(ambient),
    ...ways,
  });
  const credential = settings.apiKey.value;
  let pins = settings.pinned.value;
  let flywheel = flywheelText(pins);
  let isTold = false;
  return {
    kind: 'remote',
    service,
    credential,
    chain,
    sender: rpc?.sender ?? null,
    isOnThisMachine: false,
    explorer: null,
    walletChain: async () => {
      invariant(rpc !== null, 'What is shown to a wallet was read from nodes.');
      return walletChain(await rpc.chain.genesisHash());
    },
    foresight: null,
    recovery: null,
    trusted: async () => (pins === null ? null : trust(pins, chain)),
    get pins() {
      return pins;
    },
    confirm: (confirmed) => {
      pins = confirmed;
    },
    symbol: null,
    simulator: openSimulator,
    operations: {
      directory: settings.configDir.value,
      address: servicePlace(baseUrl),
      get flywheel() {
        return flywheel;
      },
    },
    get locate() {
      if (isTold) return null;
      return (found: Pick<Pins, 'multisig' | 'mint'>) => {
        const told = flywheelText(found);
        if (flywheel !== null && told !== flywheel) throw otherProject(found);
        flywheel = told;
        isTold = true;
      };
    },
    takenBack: 0,
    close: async () => {
      await service.close();
      await rpc?.close();
    },
  };
}

const otherProject = ({ multisig, mint }: Pick<Pins, 'multisig' | 'mint'>): FlywheelError => {
  const own = `The API key is of the project with multisig ${multisig} and mint ${mint}`;
  const hint = 'See both: `flywheel whoami --check`.';
  return new FlywheelError('ERR_CONFIG_INVALID', `${own}, and the pins are of another one.`, { hint });
};

/** Loads the RPC code only if nodes are set: few commands use them. */
async function rpcOf(ambient: Ambient, settings: Settings): Promise<OwnRpc | null> {
  requireQuorum(settings.rpcUrl.value, settings.rpcQuorum);
  if (settings.rpcUrl.value.length === 0) return null;
  return (await import('./rpc.js')).openRpc(ambient, settings);
}

/** The pinned flywheel; decimals and token program come from the mint on chain. */
async function trust(pins: Pins, chain: ChainReader | null): Promise<Flywheel | null> {
  if (chain === null) return null;
  const [{ flywheelOf }, { decodeMint }] = await Promise.all([
    import('../approval/flywheel-facts.js'),
    import('../chain/tokens/accounts.js'),
  ]);
  const [account] = await chain.getAccounts([pins.mint]);
  const mint = decodeMint(account ?? null);
  return mint === undefined ? null : flywheelOf(pins, mint);
}
