/** The newest slot that a node of a ledger has told of, kept with the ledger: none that is started later goes back behind it. */
import type { NodeLedger } from './node-ledger.js';

const NOTE = 'rpc_node_slot';
/** Slots that are kept before they are told of, so that few writes are enough; as many are skipped after a kill. */
const AHEAD = 64;

export class ShownSlot {
  readonly #ledger: Pick<NodeLedger, 'note' | 'keepNote'>;
  #kept: number;

  constructor(ledger: Pick<NodeLedger, 'note' | 'keepNote'>) {
    this.#ledger = ledger;
    this.#kept = this.#read();
  }

  /** No node has told of a later one. */
  get latest(): number {
    return this.#kept;
  }

  /** Before a slot is told of. */
  reserve(slot: number): void {
    if (slot > this.#kept) this.#keep(slot + AHEAD);
  }

  /** Nothing after this slot was told of, nor will be. */
  end(slot: number): void {
    const byOthers = this.#read();
    this.#keep(byOthers > this.#kept ? Math.max(byOthers, slot) : slot);
  }

  #read(): number {
    return Number(this.#ledger.note(NOTE) ?? 0);
  }

  #keep(slot: number): void {
    this.#ledger.keepNote(NOTE, String(slot));
    this.#kept = slot;
  }
}
