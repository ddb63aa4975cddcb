/** A remote API as a command sees it: the client, the key, the user's own RPC, and the flywheel that the profile pins. */

import { flywheelOf } from '../approval/flywheel-facts.js';
import type { Pins } from '../approval/pins.js';
import type { ChainReader, History } from '../chain/chain.js';
import type { Flywheel } from '../chain/flywheel.js';
import { withSecondDecoder } from '../chain/rpc/second-decoder.js';
import { decodeMint } from '../chain/tokens/accounts.js';
import { walletChain } from '../chain/wallet-chain.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient, OpenedService } from '../cli/context.js';
import { plainStyle } from '../cli/output/color.js';
import { warningLines } from '../cli/output/output.js';
import { createRawApi } from '../client/raw-api.js';
import { createRemoteService } from '../client/remote-service.js';
import type { RemoteServiceDeps } from '../client/request-writer.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { randomIds } from '../values/ids.js';
import { httpEnvironment, requestTimeoutMs } from './http-environment.js';
import { journalPlace } from './journal-place.js';
import { openSimulator, pinsOf } from './pinned.js';
import { checkRpcNodes, openOwnRpc } from './rpc.js';

/** How the outside is reached, where not over the sockets of this machine. */
export interface RemoteWays extends Partial<Pick<RemoteServiceDeps, 'transport' | 'sleep' | 'random'>> {
  /** Reads the user's own chain. @default the RPC that the settings name */
  readonly chain?: ChainReader & History;
}

/** Builds the client for an API address; nothing is sent before the first call. */
export async function openRemoteService(
  ambient: Ambient,
  settings: Settings,
  baseUrl: string,
  { chain: ownChain, ...ways }: RemoteWays = {},
): Promise<OpenedService> {
  const rpc = ownChain === undefined ? openOwnRpc(ambient, settings) : null;
  const chain = ownChain ?? (rpc === null ? null : withSecondDecoder(rpc.reader));
  const deps = clientDeps(ambient, settings, { baseUrl, ...ways });
  const service = createRemoteService(deps);
  const close = async (): Promise<void> => {
    await service.close();
    await rpc?.close();
  };
  const credential = settings.apiKey.value;
  let pins = settings.pinned.value === null ? null : pinsOf(settings.pinned.value);
  const operations = journalPlace(ambient, settings.configDir.value, {
    place: baseUrl,
    profile: settings.profile.value ?? '',
  });
  return {
    kind: 'remote',
    service,
    credential,
    chain,
    sender: rpc?.sender ?? null,
    isOnThisMachine: false,
    explorer: null,
    walletChain: () => chainOfWallets(ambient, settings),
    history: chain,
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
    journal: operations.journal,
    rawApi: async () => createRawApi(deps),
    close: async () => {
      await operations.close();
      await close();
    },
  };
}

/** The client as the settings have it. */
export function clientDeps(
  ambient: Ambient,
  settings: Settings,
  ways: Pick<RemoteServiceDeps, 'baseUrl'> & Partial<RemoteServiceDeps>,
): RemoteServiceDeps {
  const say = (line: string): void => ambient.io.stderr.write(`${line}\n`);
  return {
    apiKeyHeader: settings.apiKeyHeader.value,
    clock: ambient.clock,
    random: Math.random,
    ids: randomIds,
    maxWaitMs: settings.maxWaitSeconds.value * 1_000,
    requestTimeoutMs: requestTimeoutMs(settings),
    totalTimeoutMs: settings.waitSeconds.value * 1_000,
    userAgent: `flywheel/${ambient.version}`,
    onWarning: (text) => {
      const { stderr } = ambient.io;
      for (const line of warningLines(text, settings.output, plainStyle(stderr.columns), stderr)) say(line);
    },
    ...(settings.verbose ? { onHttpLog: say } : {}),
    ...httpEnvironment(ambient),
    ...ways,
  };
}

/** @throws `ERR_UNAVAILABLE` when no node says which cluster it is of. */
async function chainOfWallets(ambient: Ambient, settings: Settings): Promise<string> {
  const reports = await checkRpcNodes(ambient, settings);
  const state = reports.find((report) => report.state !== null)?.state;
  if (state != null) return walletChain(state.genesisHash);
  throw (
    reports[0]?.problem ?? new FlywheelError('ERR_UNAVAILABLE', 'No RPC node says which cluster it is of.')
  );
}

/** The flywheel that is pinned, with what follows from it; decimals and token program are the mint's own, read from the chain. */
async function trust(pins: Pins, chain: ChainReader | null): Promise<Flywheel | null> {
  if (chain === null) return null;
  const [account] = await chain.getAccounts([pins.mint]);
  const mint = decodeMint(account ?? null);
  return mint === undefined ? null : flywheelOf(pins, mint);
}
