/** The embedded engine as a command sees it, on its own ledger or a cluster. */
import { clusterName } from '../chain/node-address.js';
import { createSender } from '../chain/send.js';
import { LOCAL_CHAIN, walletChain } from '../chain/wallet-chain.js';
import type { Ambient } from './context.js';
import { type EngineOptions, type OpenedEngine, openEngine } from './open-engine.js';
import { opening } from './opened.js';
import { findProject } from './project.js';
import { flywheelText, type OpenedService, openSimulator, pinsOf } from './service.js';
import type { Settings } from './settings.js';
import { waitingForOthers, withPatience } from './waiting.js';

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done. */
export async function openEmbeddedService(
  ambient: Ambient,
  settings: Settings,
  options: Pick<EngineOptions, 'between'> = {},
): Promise<OpenedService> {
  return opening(async (opened) =>
    serviceOver(ambient, settings, opened.keep(await openEngine(ambient, settings, options))),
  );
}

/** The chain as it is read, sent to and called, on the ledger or a cluster. */
async function chainOf({ chain, rpc, genesis }: OpenedEngine, ambient: Ambient) {
  if (rpc === null)
    return {
      ...{ reader: chain, sender: createSender(chain, ambient) },
      ...{ walletChain: async () => LOCAL_CHAIN, explorer: null },
    };
  const { withSecondDecoder } = await import('../chain/rpc/second-decoder.js');
  return {
    ...{ reader: withSecondDecoder(chain), sender: rpc.sender },
    ...{ walletChain: async () => walletChain(genesis), explorer: clusterName(genesis) },
  };
}

async function serviceOver(
  ambient: Ambient,
  settings: Settings,
  opened: OpenedEngine,
): Promise<OpenedService> {
  const { engine, store, rpc, genesis } = opened;
  const { reader, ...chain } = await chainOf(opened, ambient);
  const project = await store.read((tx) => findProject(tx, settings));
  const { tokenId, flywheel } = project;
  const waitMs = settings.waitSeconds.value * 1_000;
  const { source, value: given } = settings.pinned;
  let pins = source === 'flag' && given !== null ? pinsOf(given) : project.pins;
  return {
    kind: 'embedded',
    ...chain,
    // A local ledger itself is never waited for.
    service: waitingForOthers(ambient, rpc === null ? engine : withPatience(engine, waitMs), waitMs),
    credential: project.credential,
    ...{ chain: reader, history: reader },
    isOnThisMachine: rpc === null,
    trusted: async () => flywheel,
    get pins() {
      return pins;
    },
    confirm: (confirmed) => {
      pins = confirmed;
    },
    symbol: project.symbol,
    simulator: openSimulator,
    foresight: engine.foresight,
    recovery: {
      unfinished: () => engine.recovery.unfinished({ tokenId }),
      finish: (terms) => engine.recovery.finish({ ...terms, tokenId }),
    },
    operations: {
      directory: settings.dataDir.value,
      // The same for a directory, and for the database that it was copied into.
      address: rpc === null ? `embedded:${genesis}` : `cluster:${genesis}:${flywheel?.mint ?? ''}`,
      flywheel: flywheelText(pins),
    },
    locate: null,
    takenBack: rpc === null ? 0 : await engine.watch({ tokenId }),
    close: () => opened.close(),
  };
}
