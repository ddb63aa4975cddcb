/** What looking at one RPC node brings to light; who looks, and who shows it, is decided elsewhere. */
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { NodeAddress } from './node-address.js';

/** What is known of a node. */
export interface NodeState {
  readonly genesisHash: string;
  /** Name of the public cluster, or `null`: it is somebody's own. */
  readonly cluster: string | null;
  readonly slot: number;
  /** Slots behind the furthest of the nodes. */
  readonly slotsBehind: number;
  readonly version: string;
  /** Time of one question and its answer. */
  readonly latencyMs: number;
  /** By how much the clock of this machine is ahead of the time of the chain; `null` where the node does not tell it. */
  readonly clockAheadMs: number | null;
}

/** A node, and what was found: its state, or why it is not to be used, or both. */
export interface NodeReport {
  readonly address: NodeAddress;
  /** `null` where the node says nothing of use. */
  readonly state: NodeState | null;
  readonly problem: FlywheelError | null;
}
