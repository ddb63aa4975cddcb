/** What is so of a cluster as a whole. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { NodePool } from './node-pool.js';
import { GENESIS_QUESTION } from './questions.js';

export interface ClusterFacts {
  /** Which cluster it is. @throws `ERR_UNAVAILABLE`; `ERR_CHAIN_MISMATCH` where nodes that have to agree do not. */
  genesisHash(): Promise<string>;
}

/** @param quorum - nodes that have to agree. */
export const createClusterFacts = (pool: NodePool, quorum: number): ClusterFacts => ({
  genesisHash: async () => {
    const voices = await pool.ask(GENESIS_QUESTION, { voices: quorum });
    const [value, ...others] = new Set(voices.map((voice) => voice.value));
    if (value !== undefined && others.length === 0) return value;
    throw new FlywheelError('ERR_CHAIN_MISMATCH', 'The RPC nodes are of different clusters.');
  },
});
