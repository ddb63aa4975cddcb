/** What is so of a cluster as a whole: which one it is, and what accounts cost on it. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Question } from './ask.js';
import type { NodePool } from './node-pool.js';
import { GENESIS_QUESTION, rentQuestion } from './questions.js';

/** Every method throws `ERR_UNAVAILABLE`, and `ERR_CHAIN_MISMATCH` where nodes that have to agree do not. */
export interface ClusterFacts {
  genesisHash(): Promise<string>;
  /** Lowest balance with which an account of so many bytes lives for ever. */
  rentExemptLamports(sizeBytes: number): Promise<bigint>;
}

/** @param quorum - nodes that have to agree. */
export function createClusterFacts(pool: NodePool, quorum: number): ClusterFacts {
  const agreed = async <Value>(question: Question<Value>): Promise<Value> => {
    const voices = await pool.ask(question, { voices: quorum });
    const values = new Set(voices.map(({ value }) => value));
    const [value] = values;
    if (values.size === 1) return value as Value;
    throw new FlywheelError('ERR_CHAIN_MISMATCH', `The RPC nodes answer ${question.method} differently.`);
  };
  return {
    genesisHash: () => agreed(GENESIS_QUESTION),
    rentExemptLamports: (sizeBytes) => agreed(rentQuestion(sizeBytes)),
  };
}
