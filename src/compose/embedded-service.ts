/** The embedded engine as a command sees it, on its own ledger or a cluster. */
import { walletChain } from '../chain/wallet-chain.js';
import type { Ambient } from './context.js';
import { type EngineOptions, openEngine } from './open-engine.js';
import { opening } from './opened.js';
import { flywheelText, type OpenedService, openSimulator, pinsOf } from './service.js';
import type { Settings } from './settings.js';
import { waitingForOthers, withPatience } from './waiting.js';

/** @throws `ERR_LOCAL_NOT_FOUND` until `local init` or `register` is done. */
export const openEmbeddedService = (
  ambient: Ambient,
  settings: Settings,
  options: Pick<EngineOptions, 'between'> = {},
): Promise<OpenedService> =>
  opening(async (opened) => {
    const { engine, chain, sender, network, project } = opened.keep(
      await openEngine(ambient, settings, options),
    );
    const { tokenId, symbol, credential, flywheel, ...registered } = await project();
    const isLocal = network.kind === 'ledger';
    const waitMs = settings.waitSeconds.value * 1_000;
    const { source, value: given } = settings.pinned;
    let pins = source === 'flag' && given !== null ? pinsOf(given) : registered.pins;
    return {
      kind: 'embedded',
      // A local ledger itself is never waited for.
      service: waitingForOthers(ambient, isLocal ? engine : withPatience(engine, waitMs), waitMs),
      ...{ credential, symbol, chain, history: chain, sender },
      ...{ isOnThisMachine: isLocal, explorer: network.name },
      walletChain: async () => walletChain(network.genesisHash),
      trusted: async () => flywheel,
      get pins() {
        return pins;
      },
      confirm: (confirmed) => {
        pins = confirmed;
      },
      simulator: openSimulator,
      foresight: engine.foresight,
      recovery: {
        unfinished: () => engine.recovery.unfinished({ tokenId }),
        finish: (terms) => engine.recovery.finish({ ...terms, tokenId }),
      },
      operations: {
        directory: settings.dataDir.value,
        // The same for a directory, and for the database that it was copied into.
        address: isLocal
          ? `embedded:${network.genesisHash}`
          : `cluster:${network.genesisHash}:${flywheel?.mint ?? ''}`,
        flywheel: flywheelText(pins),
      },
      locate: null,
      takenBack: isLocal ? 0 : await engine.watch({ tokenId }),
      close: () => opened.close(),
    };
  });
