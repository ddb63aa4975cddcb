/** A cluster as this program uses it: read and sent to through the nodes that the user named. */
import {
  type Chain,
  type ChainReader,
  type ChainSender,
  type Commitment,
  DEFAULT_MAX_PRIORITY_FEE_LAMPORTS,
  type History,
} from '../chain.js';
import { createSender } from '../send.js';
import { createClusterChain } from './cluster-chain.js';
import { type ClusterFacts, createClusterFacts } from './cluster-facts.js';
import { NodePool, type NodePoolOptions } from './node-pool.js';
import { RpcReader } from './rpc-reader.js';

/** The nodes, how long they are waited for, and how many of them have to agree. */
export interface RpcChainOptions extends NodePoolOptions {
  /** @default 1 */
  readonly quorum?: number;
  /** How often to look for what was sent, in ms. @default 500 */
  readonly pollMs?: number;
  /** Lamports that a transaction pays beyond its signatures at most; 0 for none. @default {@link DEFAULT_MAX_PRIORITY_FEE_LAMPORTS} */
  readonly maxPriorityFeeLamports?: bigint;
  /** From when on a transaction counts as landed. @default confirmed */
  readonly commitment?: Commitment;
}

/** What can be done with a cluster. */
export interface RpcChain {
  readonly reader: ChainReader & History;
  readonly sender: ChainSender;
  /** All that an engine does. */
  readonly chain: Chain;
  readonly facts: ClusterFacts;
}

/**
 * The cluster behind the nodes; nothing is asked before the first call.
 *
 * Every method throws `ERR_UNAVAILABLE` when no node answers in time, `ERR_RESPONSE_INVALID` when what they answer cannot be,
 * `ERR_CHAIN_MISMATCH` when those that have to agree do not, or are of different clusters.
 */
export function createRpcChain({
  quorum = 1,
  pollMs,
  commitment = 'confirmed',
  maxPriorityFeeLamports = DEFAULT_MAX_PRIORITY_FEE_LAMPORTS,
  ...options
}: RpcChainOptions): RpcChain {
  const pool = new NodePool(options);
  const reader = new RpcReader(pool, quorum);
  const { clock } = options;
  const chain = createClusterChain({
    ...{ pool, reader, quorum, clock, commitment, maxPriorityFeeLamports },
    ...(pollMs === undefined ? {} : { pollMs }),
  });
  const sender = createSender(chain, { clock, sleep: (ms) => pool.sleep(ms) });
  return { reader, sender, facts: createClusterFacts(pool, quorum), chain };
}
