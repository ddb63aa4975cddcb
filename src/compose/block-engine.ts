/** The block engine of the settings, reached in the way of RPC nodes, and the place where tips are told of. */
import { NodeAddress } from '../chain/node-address.js';
import type { BlockEngineAddress } from '../chain/rpc/block-engine.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import { createTransport } from '../client/transport.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { httpEnvironment, requestTimeoutMs } from './http-environment.js';

/** Where a block engine takes JSON-RPC, when its address names no place. */
const BUNDLES_PATH = '/api/v1/bundles';

/** @throws `ERR_CONFIG_INVALID` where the settings name none, or a proxy or certificates that cannot be. */
export function connectBlockEngine(
  ambient: Ambient,
  settings: Settings,
): BlockEngineAddress & { close(): Promise<void> } {
  const { blockEngine, tipFloor, maxTip } = settings;
  if (blockEngine.value === null)
    throw new FlywheelError('ERR_CONFIG_INVALID', 'No block engine is named: --block-engine names one.');
  const url = blockEngine.value.reveal();
  if (url.pathname === '/') url.pathname = BUNDLES_PATH;
  const floorUrl = tipFloor.value.reveal();
  const options = { requestTimeoutMs: requestTimeoutMs(settings), proxy: {}, ...httpEnvironment(ambient) };
  const [engine, floor] = [createTransport(url, options), createTransport(floorUrl, options)];
  const headers = { accept: 'application/json', 'user-agent': `flywheel/${ambient.version}` };
  return {
    maxTipLamports: BigInt(maxTip.value),
    node: {
      address: new NodeAddress(url, blockEngine.value.given),
      post: (body, terms) =>
        engine.exchange(
          { method: 'POST', url, headers: { ...headers, 'content-type': 'application/json' }, body },
          { ...terms, era: engine.era },
        ),
    },
    floor: (terms) => floor.exchange({ method: 'GET', url: floorUrl, headers }, { ...terms, era: floor.era }),
    close: async () => {
      await Promise.all([engine.close(), floor.close()]);
    },
  };
}
