/** Slots, block heights, blockhashes and time of a ledger: the same for every node and every start. */
import { createHash } from 'node:crypto';
import { base58Encode } from '../values/base58.js';
import type { Clock } from '../values/time.js';
import type { NodeLedger } from './node-ledger.js';
import { ShownSlot } from './shown-slot.js';

/** The slot of the ledger's first block, so that no slot equals its height. */
export const FIRST_SLOT = 1_000;
export const SLOT_MS = 400;
/** Slots by which the newest may be ahead of the clock and is waited for: the block of a command is in the slot after its own time. */
const WAITED_SLOTS = 2;

/** A slot is a span of time since the ledger began, and every slot has a block. */
export class Timeline {
  readonly #ledger: NodeLedger;
  readonly #clock: Clock;
  readonly #shown: ShownSlot;
  readonly slotMs: number;
  /** By which the slots are ahead of the clock, which was set back. */
  #aheadMs = 0;
  #newest: number;

  constructor(ledger: NodeLedger, clock: Clock, slotMs = SLOT_MS) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.slotMs = slotMs;
    this.#shown = new ShownSlot(ledger);
    this.#newest = this.#shown.latest;
  }

  /** The newest slot; never one before another that was told of. */
  newest(): number {
    const known = Math.max(this.#newest, this.slotOfBlock(this.#ledger.tip.timeMs));
    const behindMs = this.startMs(known) - this.#nowMs();
    if (behindMs > WAITED_SLOTS * this.slotMs) this.#aheadMs += behindMs;
    this.#newest = Math.max(known, this.slotAt(this.#nowMs()));
    if (this.#aheadMs > 0) this.#shown.reserve(this.#newest);
    return this.#newest;
  }

  heightOf(slot: number): number {
    return slot - FIRST_SLOT;
  }

  /** When a slot begins, in ms since the Unix epoch; its block has this time. */
  startMs(slot: number): number {
    return this.#ledger.genesisMs + (slot - FIRST_SLOT) * this.slotMs;
  }

  /** The slot that has begun last at a time. */
  slotAt(timeMs: number): number {
    return FIRST_SLOT + Math.max(0, Math.floor((timeMs - this.#ledger.genesisMs) / this.slotMs));
  }

  /** The slot to which a block of the ledger belongs. */
  slotOfBlock(timeMs: number): number {
    return FIRST_SLOT + Math.max(0, Math.ceil((timeMs - this.#ledger.genesisMs) / this.slotMs));
  }

  /** Once nobody asks any more. */
  end(): void {
    this.#shown.end(this.newest());
  }

  #nowMs(): number {
    return this.#clock.nowMs() + this.#aheadMs;
  }
}

/** Base58 hash of the block of a slot. @param fork - tells the blocks of a fork from those of the chain. */
export const blockhashOf = (genesisHash: string, slot: number, fork = 0): string =>
  base58Encode(createHash('sha256').update(`${genesisHash} block ${slot} ${fork}`).digest());
