/** What this node has seen of the newest transactions beyond what the ledger keeps. */
import type { Signature } from '../chain/chain.js';
import type { Landed } from './landed.js';
import type { Run } from './node-ledger.js';

/** Transactions of which the details are kept. */
const MAX_RUNS = 20_000;
/** Slots of which it is kept what was in them: those whose fees are asked for. */
const KEPT_SLOTS = 256;

/** Newest transactions by signature and by slot. */
export class RecentRuns {
  readonly #runs = new Map<Signature, Run>();
  readonly #bySlot = new Map<number, Landed[]>();

  keepRun(signature: Signature, run: Run): void {
    this.#runs.set(signature, run);
    const oldest = this.#runs.keys().next();
    if (this.#runs.size > MAX_RUNS && oldest.done !== true) this.#runs.delete(oldest.value);
  }

  runOf(signature: Signature): Run | null {
    return this.#runs.get(signature) ?? null;
  }

  add(landed: Landed): void {
    const inSlot = this.#bySlot.get(landed.slot) ?? [];
    inSlot.push(landed);
    this.#bySlot.set(landed.slot, inSlot);
    for (const slot of this.#bySlot.keys()) {
      if (slot > landed.slot - KEPT_SLOTS) break;
      this.#bySlot.delete(slot);
    }
  }

  inSlot(slot: number): readonly Landed[] {
    return this.#bySlot.get(slot) ?? [];
  }
}
