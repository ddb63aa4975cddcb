/** One call of a method: what it asks, of which node and which state. */
import type { Address } from '../values/address.js';
import type { Cluster } from './cluster.js';
import type { Faults } from './faults/faults.js';
import type { Commitment } from './landed.js';
import { commitmentOf, type Options, type Params, readCount } from './params.js';
import { contextSlotNotReached, nodeBehind } from './rpc-error.js';
import { View } from './view.js';

/** The part of a node that its methods work with. */
export interface NodeParts {
  readonly cluster: Cluster;
  readonly faults: Faults;
  /** A signed transfer of what `requestAirdrop` gives. @throws RpcError where there is nothing to give. */
  airdrop(to: Address, lamports: bigint, blockhash: string): Uint8Array;
  /** A transaction was taken; where slots come on demand, one comes now. */
  wake(): void;
}

/** Slots by which a node may be behind and take itself for healthy (agave, `DELINQUENT_VALIDATOR_SLOT_DISTANCE`). */
const HEALTHY_LAG_SLOTS = 128;

/** A call that is being answered. */
export class Call {
  readonly params: Params;
  readonly node: NodeParts;
  readonly #lagSlots: number;

  constructor(params: Params, node: NodeParts, lagSlots: number) {
    this.params = params;
    this.node = node;
    this.#lagSlots = lagSlots;
  }

  /** @throws RpcError -32005 where the node is so far behind that it knows of it. */
  requireHealthy(): void {
    if (this.#lagSlots > HEALTHY_LAG_SLOTS) throw nodeBehind(this.#lagSlots);
  }

  /** The state at a level. @throws RpcError -32016 when it is older than the options ask for. */
  view(options: Options, otherwise: Commitment = 'finalized'): View {
    const view = this.viewAt(commitmentOf(options, otherwise));
    const { minContextSlot } = options;
    if (minContextSlot !== undefined && minContextSlot !== null)
      if (view.slot < readCount(minContextSlot, 'a slot')) throw contextSlotNotReached(view.slot);
    return view;
  }

  viewAt(commitment: Commitment): View {
    return new View(this.node.cluster, commitment, this.#lagSlots);
  }

  /** The oldest slot of which the node still has the block. */
  firstSlot(): number {
    const { cluster, faults } = this.node;
    const first = cluster.timeline.atOrAfter(0);
    if (faults.keptSlots === null) return first;
    return Math.max(first, cluster.timeline.atOrAfter(cluster.slotOf('processed') - faults.keptSlots));
  }
}

/** Answers a call; a value may hold bigints. */
export type Method = (call: Call) => unknown;
export type Methods = Readonly<Record<string, Method>>;

/** A value with the slot of the state that it is from. */
export const inContext = ({ slot }: View, value: unknown, version = API_VERSION): unknown => ({
  context: { apiVersion: version, slot },
  value,
});

/** Whose behaviour the methods have. */
export const API_VERSION = '2.2.0';
