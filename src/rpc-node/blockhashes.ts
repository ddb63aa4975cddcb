/** The hashes of the newest blocks, and up to which height each is good. */
import { BLOCKHASH_LIFETIME_BLOCKS } from '../chain/chain.js';
import { blockhashOf, type Timeline } from './timeline.js';

/** For how many slots hashes are in memory: beyond the oldest state that anybody reads, and its hashes. */
const KEPT_SLOTS = 1_024;
const LIFETIME = Number(BLOCKHASH_LIFETIME_BLOCKS);

/** Hashes by slot and back. */
export class Blockhashes {
  readonly #genesisHash: string;
  readonly #timeline: Timeline;
  readonly #bySlot = new Map<number, string>();
  readonly #slots = new Map<string, number>();
  #newest = 0;

  constructor(genesisHash: string, timeline: Timeline) {
    this.#genesisHash = genesisHash;
    this.#timeline = timeline;
  }

  /** Takes all slots up to one. @param fork - 0 but on a fork. */
  grow(slot: number, fork: number): void {
    for (let next = Math.max(this.#newest + 1, slot - KEPT_SLOTS); next <= slot; next += 1) {
      if (!this.#timeline.isProduced(next)) continue;
      this.#put(next, fork);
      this.#forget(next - KEPT_SLOTS);
    }
    this.#newest = Math.max(this.#newest, slot);
  }

  /** Gives the slots from one on the hashes of a fork, or of the chain again; the ones that they had are good no more. */
  replaceFrom(slot: number, fork: number): void {
    for (let next = slot; next <= this.#newest; next += 1) {
      if (!this.#bySlot.has(next)) continue;
      this.#forget(next);
      this.#put(next, fork);
    }
  }

  of(slot: number): string {
    return this.#bySlot.get(slot) ?? blockhashOf(this.#genesisHash, slot, 0);
  }

  /** Highest block that may take a transaction with this hash; `undefined` for one that is not known. */
  lastValidHeight(hash: string): number | undefined {
    const slot = this.#slots.get(hash);
    return slot === undefined ? undefined : this.#timeline.heightOf(slot) + LIFETIME;
  }

  /** May a block in this slot take a transaction with this hash? */
  isGood(hash: string, slot: number): boolean {
    const born = this.#slots.get(hash);
    if (born === undefined || born > slot) return false;
    return this.#timeline.heightOf(slot) <= this.#timeline.heightOf(born) + LIFETIME;
  }

  /** The slots with a block up to one, newest first. */
  recent(slot: number, count: number): readonly { readonly slot: number; readonly hash: string }[] {
    return [...this.#bySlot]
      .filter(([each]) => each <= slot)
      .sort(([left], [right]) => right - left)
      .slice(0, count)
      .map(([each, hash]) => ({ slot: each, hash }));
  }

  #put(slot: number, fork: number): void {
    const hash = blockhashOf(this.#genesisHash, slot, fork);
    this.#bySlot.set(slot, hash);
    this.#slots.set(hash, slot);
  }

  #forget(slot: number): void {
    const hash = this.#bySlot.get(slot);
    if (hash === undefined) return;
    this.#bySlot.delete(slot);
    this.#slots.delete(hash);
  }
}
