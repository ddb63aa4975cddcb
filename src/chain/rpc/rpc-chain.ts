/** A cluster as this program uses it: read and sent to through the nodes that the user named. */
import { type ChainSender, DEFAULT_MAX_PRIORITY_FEE_LAMPORTS } from '../chain.js';
import { createSender } from '../send.js';
import { ClusterChain, type ClusterTerms } from './cluster-chain.js';
import { NodePool, type NodePoolOptions } from './node-pool.js';
import { RpcReader } from './rpc-reader.js';

/** A little more than a slot. */
const POLL_MS = 500;

/** The nodes, how long they are waited for, and how many of them have to agree. By default one, at `confirmed`. */
export type RpcChainOptions = NodePoolOptions & Partial<Omit<ClusterTerms, 'clock'>>;

/** What can be done with a cluster. */
export interface RpcChain {
  readonly reader: RpcReader;
  readonly sender: ChainSender;
  /** All that an engine does. */
  readonly chain: ClusterChain;
}

/**
 * The cluster behind the nodes; nothing is asked before the first call.
 *
 * Every method throws `ERR_UNAVAILABLE` when no node answers in time, `ERR_RESPONSE_INVALID` when what they answer cannot be,
 * `ERR_CHAIN_MISMATCH` when those that have to agree do not, or are of different clusters.
 */
export function createRpcChain({
  quorum = 1,
  pollMs = POLL_MS,
  commitment = 'confirmed',
  maxPriorityFeeLamports = DEFAULT_MAX_PRIORITY_FEE_LAMPORTS,
  ...options
}: RpcChainOptions): RpcChain {
  const pool = new NodePool(options);
  const { clock } = options;
  const chain = new ClusterChain(pool, { quorum, clock, pollMs, commitment, maxPriorityFeeLamports });
  const sender = createSender(chain, { clock, sleep: (ms) => pool.sleep(ms) });
  return { reader: new RpcReader(pool, quorum), sender, chain };
}
