/** The nodes of a cluster that was named on the command line, and whether they are of it. */
import { clusterName, isMoniker, nodeAddress } from '../chain/node-address.js';
import { environmentNodes, requireQuorum } from '../cli/config/resolve-rpc.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import { FlywheelError } from '../errors/flywheel-error.js';

/** Names of clusters as people type them. */
const NAMES: Readonly<Record<string, string>> = { mainnet: 'mainnet-beta' };

/** Was a node named, and not only a public cluster? */
export const namesNodes = (ambient: Ambient, { rpcUrl }: Settings, cluster: string): boolean =>
  !isMoniker(cluster) || rpcUrl.source === 'flag' || environmentNodes(ambient) !== null;

/** The settings with the nodes of the cluster: those that were named, else its public one. @throws `ERR_CONFIG_INVALID` */
export function withClusterNodes(ambient: Ambient, settings: Settings, cluster: string): Settings {
  const { rpcUrl, rpcQuorum } = settings;
  const own = nodeAddress(cluster, '--cluster');
  const named = rpcUrl.source === 'flag' ? rpcUrl : environmentNodes(ambient);
  const nodes =
    named === null
      ? [own]
      : isMoniker(cluster)
        ? named.value
        : [own, ...(rpcUrl.source === 'flag' ? named.value : [])];
  const isChosen = rpcQuorum.source === 'flag' || rpcQuorum.source === 'environment';
  const chosen: Settings = {
    ...settings,
    rpcUrl: { value: nodes, source: named?.source ?? 'flag' },
    rpcQuorum: isChosen ? rpcQuorum : { value: 1, source: 'default' },
  };
  requireQuorum(chosen.rpcUrl.value, chosen.rpcQuorum);
  return chosen;
}

/** @throws `ERR_CHAIN_MISMATCH` when the nodes are not of the cluster that was named. */
export function requireNamed(cluster: string, genesisHash: string): void {
  const isPublic = isMoniker(cluster) && cluster !== 'localhost';
  const expected = NAMES[cluster] ?? cluster;
  const name = clusterName(genesisHash);
  if (!isPublic || name === expected) return;
  throw new FlywheelError(
    'ERR_CHAIN_MISMATCH',
    `--cluster ${cluster}: the RPC nodes are of ${name ?? 'a cluster of its own'} (genesis ${genesisHash}), expected was ${expected}.`,
    { hint: 'Name nodes of that cluster with --rpc-url, or leave them out to use its public one.' },
  );
}
