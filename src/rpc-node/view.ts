/** What one request sees: the chain at the end of a slot, which may be older than the newest. */
import type { AccountState } from '../chain/account.js';
import { BLOCKHASH_LIFETIME_BLOCKS } from '../chain/chain.js';
import type { Address } from '../values/address.js';
import { base58Decode } from '../values/base58.js';
import type { Cluster } from './cluster.js';
import type { Commitment, Landed } from './landed.js';
import type { AccountSource } from './node-ledger.js';

/** Slots for which a node remembers signatures without looking through its history. */
const RECENT_SLOTS = 300;

/** The cluster as a node shows it that is some slots behind. */
export class View implements AccountSource {
  readonly cluster: Cluster;
  readonly commitment: Commitment;
  readonly slot: number;
  readonly #lag: number;

  constructor(cluster: Cluster, commitment: Commitment, lag: number) {
    this.cluster = cluster;
    this.commitment = commitment;
    this.#lag = lag;
    this.slot = cluster.timeline.atOrBefore(cluster.slotOf(commitment) - lag);
  }

  /** The same node at another level. */
  at(commitment: Commitment): View {
    return new View(this.cluster, commitment, this.#lag);
  }

  get height(): number {
    return this.cluster.timeline.heightOf(this.slot);
  }

  /** In ms since the Unix epoch. */
  get timeMs(): number {
    return this.cluster.timeline.startMs(this.slot);
  }

  get blockhash(): string {
    return this.cluster.blockhashes.of(this.slot);
  }

  get lastValidHeight(): number {
    return this.height + Number(BLOCKHASH_LIFETIME_BLOCKS);
  }

  get(address: Address): AccountState | null {
    return this.cluster.accountAt(address, this.slot);
  }

  find(landedSignature: string): Landed | null {
    return this.cluster.find(landedSignature, this.slot);
  }

  /** Is it among those that are found without looking through history? */
  isRecent({ slot }: Landed): boolean {
    return slot > this.slot - RECENT_SLOTS;
  }

  isGoodBlockhash(blockhash: string): boolean {
    const bytes = base58Decode(blockhash);
    return bytes !== undefined && this.cluster.isGoodBlockhash(blockhash, bytes, this.slot);
  }

  /** How sure a block is, as this node sees it. */
  commitmentOf(slot: number): Commitment {
    if (slot <= this.at('finalized').slot) return 'finalized';
    return slot <= this.at('confirmed').slot ? 'confirmed' : 'processed';
  }
}
