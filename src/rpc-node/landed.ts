/** A transaction in a block, as the node knows it. */
import type { Signature, TransactionError } from '../chain/chain.js';
import type { Address } from '../values/address.js';
import type { KeptTransaction, Run } from './node-ledger.js';
import type { Timeline } from './timeline.js';

/** How sure a state is: of the newest block; of one that most have voted for; of one that is never taken back. */
export type Commitment = 'processed' | 'confirmed' | 'finalized';

export const COMMITMENTS = ['processed', 'confirmed', 'finalized'] as const satisfies readonly Commitment[];

/** A transaction in the block of a slot. */
export interface Landed {
  readonly signature: Signature;
  readonly wire: Uint8Array;
  readonly slot: number;
  readonly timeMs: number;
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly feeLamports: bigint;
  readonly computeUnits: bigint;
  /** What it did to accounts; `null` where this node has not run it itself. */
  readonly run: Run | null;
  /** In the order of the ledger; `null` on a fork. */
  readonly place: number | null;
}

/** What a level of commitment has newly come to. */
export interface Advance {
  readonly commitment: Commitment;
  /** The newest slot of that level, and the one before. */
  readonly slot: number;
  readonly from: number;
  readonly transactions: readonly Landed[];
  readonly changed: ReadonlySet<Address>;
}

/** A transaction of the ledger in its slot. */
export const landedOf = (kept: KeptTransaction, timeline: Timeline, run: Run | null): Landed => ({
  signature: kept.signature,
  wire: kept.wire,
  slot: timeline.slotOfBlock(kept.blockTimeMs),
  timeMs: kept.blockTimeMs,
  error: kept.error,
  logs: kept.logs,
  feeLamports: kept.feeLamports,
  computeUnits: kept.computeUnits,
  run,
  place: kept.place,
});
