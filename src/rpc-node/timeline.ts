/**
 * Slots, block heights and time. All three are the same for every node of a ledger and for every start: a slot is a span of
 * time since the ledger began, and which slots have no block follows from the ledger's first hash.
 */
import { createHash } from 'node:crypto';
import { base58Encode } from '../values/base58.js';
import type { NodeLedger } from './node-ledger.js';

/** Where slots of one length begin. */
interface Pace {
  readonly slot: number;
  readonly fromMs: number;
  readonly slotMs: number;
}

/** The slot of the ledger's first block: as if the cluster had been started anew, so that no slot equals its height. */
export const FIRST_SLOT = 1_000;
/** One slot of so many has no block. */
const GROUP = 16;
const NOTE = 'rpc_node_paces';

/** What time has to do with slots on one ledger. */
export class Timeline {
  readonly #genesisHash: string;
  readonly #paces: readonly [Pace, ...Pace[]];

  constructor(genesisHash: string, paces: readonly [Pace, ...Pace[]]) {
    this.#genesisHash = genesisHash;
    this.#paces = paces;
  }

  /** Length of a slot from now on, in ms. */
  get slotMs(): number {
    return (this.#paces.at(-1) as Pace).slotMs;
  }

  /** Does the slot have a block? */
  isProduced(slot: number): boolean {
    const group = Math.floor((slot - FIRST_SLOT) / GROUP);
    return (slot - FIRST_SLOT) % GROUP !== this.#gapIn(group);
  }

  /** The slot, or the last with a block before it; the first at least. */
  atOrBefore(slot: number): number {
    const from = Math.max(FIRST_SLOT, slot);
    return this.isProduced(from) ? from : from - 1;
  }

  /** The slot, or the next with a block. */
  atOrAfter(slot: number): number {
    const from = Math.max(FIRST_SLOT, slot);
    return this.isProduced(from) ? from : from + 1;
  }

  next(slot: number): number {
    return this.atOrAfter(slot + 1);
  }

  /** Blocks below the block of a slot. */
  heightOf(slot: number): number {
    const passed = slot - FIRST_SLOT;
    const group = Math.floor(passed / GROUP);
    const within = passed % GROUP;
    return group * (GROUP - 1) + within - (within > this.#gapIn(group) ? 1 : 0);
  }

  /** When a slot begins, in ms since the Unix epoch; its block has this time. */
  startMs(slot: number): number {
    const pace = this.#paces.findLast((each) => each.slot <= slot) ?? this.#paces[0];
    return pace.fromMs + (slot - pace.slot) * pace.slotMs;
  }

  /** The slot with a block that has begun last at a time. */
  slotAt(timeMs: number): number {
    return this.atOrBefore(this.#count(timeMs, Math.floor));
  }

  /** The slot to which a block of the ledger belongs. */
  slotOfBlock(timeMs: number): number {
    return this.atOrAfter(this.#count(timeMs, Math.ceil));
  }

  #count(timeMs: number, round: (slots: number) => number): number {
    const pace = this.#paces.findLast((each) => each.fromMs <= timeMs) ?? this.#paces[0];
    return pace.slot + Math.max(0, round((timeMs - pace.fromMs) / pace.slotMs));
  }

  /** Never the first of a group, so that no two in a row are without a block. */
  #gapIn(group: number): number {
    const digest = createHash('sha256').update(`${this.#genesisHash} gap ${group}`).digest();
    return 1 + (digest.readUInt32LE(0) % (GROUP - 1));
  }
}

/** Base58 hash of the block of a slot; on a fork it has another. */
export const blockhashOf = (genesisHash: string, slot: number, fork: number): string =>
  base58Encode(createHash('sha256').update(`${genesisHash} block ${slot} ${fork}`).digest());

/**
 * The timeline of a ledger, with slots of a length from now on. Where they had another length before, what has passed keeps its
 * numbers.
 * @param shown - the newest slot that was told of.
 */
export function openTimeline(ledger: NodeLedger, slotMs: number, nowMs: number, shown: number): Timeline {
  const kept = ledger.note(NOTE);
  const paces: Pace[] = kept === null ? [] : (JSON.parse(kept) as Pace[]);
  const last = paces.at(-1);
  if (last?.slotMs !== slotMs) {
    if (last === undefined) paces.push({ slot: FIRST_SLOT, fromMs: ledger.genesisMs, slotMs });
    else {
      const before = new Timeline(ledger.genesisHash, paces as [Pace, ...Pace[]]);
      const ofBlock = before.slotOfBlock(ledger.snapshot().timeMs);
      const slot = before.next(Math.max(before.slotAt(nowMs), ofBlock, shown));
      paces.push({ slot, fromMs: before.startMs(slot), slotMs });
    }
    ledger.keepNote(NOTE, JSON.stringify(paces));
  }
  return new Timeline(ledger.genesisHash, paces as [Pace, ...Pace[]]);
}
