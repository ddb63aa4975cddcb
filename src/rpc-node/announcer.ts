/** Tells what is new at each level of commitment, in the order of the slots, each transaction once a level. */
import type { Address } from '../values/address.js';
import { type Advance, COMMITMENTS, type Commitment, type Landed } from './landed.js';

interface Event {
  readonly slot: number;
  readonly landed: Landed | null;
  readonly changed: Iterable<Address>;
}

interface Level {
  readonly commitment: Commitment;
  slot: number;
  events: Event[];
}

/** Events that wait until a level has come to their slot. */
export class Announcer {
  readonly #announce: (advance: Advance) => void;
  readonly #slotOf: (commitment: Commitment) => number;
  readonly #levels: readonly Level[];

  constructor(announce: (advance: Advance) => void, slotOf: (commitment: Commitment) => number) {
    this.#announce = announce;
    this.#slotOf = slotOf;
    this.#levels = COMMITMENTS.map((commitment) => ({ commitment, slot: slotOf(commitment), events: [] }));
  }

  add(landed: Landed, changed: Iterable<Address>): void {
    for (const { events } of this.#levels) events.push({ slot: landed.slot, landed, changed });
  }

  /** Forgets transactions that never were; the accounts that they had changed are as before from a slot on. */
  takeBack(landed: readonly Landed[], changed: ReadonlySet<Address>, slot: number): void {
    const gone = new Set(landed);
    for (const level of this.#levels) {
      level.events = level.events.filter((event) => event.landed === null || !gone.has(event.landed));
      level.events.push({ slot, landed: null, changed });
    }
  }

  announce(): void {
    for (const level of this.#levels) {
      const from = level.slot;
      const slot = this.#slotOf(level.commitment);
      const due = level.events.filter((event) => event.slot <= slot);
      if (slot === from && due.length === 0) continue;
      level.events = level.events.filter((event) => event.slot > slot);
      level.slot = slot;
      this.#announce({
        commitment: level.commitment,
        slot,
        from,
        transactions: due.flatMap(({ landed }) => landed ?? []),
        changed: new Set(due.flatMap(({ changed }) => [...changed])),
      });
    }
  }
}
