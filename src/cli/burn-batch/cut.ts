/** How a long list of burns goes out in requests that the service takes. */
import { MAX_BODY_BYTES } from '../../contract/limits.js';
import { type BurnRequest, MAX_BURN_BATCH_ELEMENTS } from '../../contract/schemas/burn.js';

/** Brackets of the array, and a comma an element. */
const sizeBytes = (burn: BurnRequest): number => Buffer.byteLength(JSON.stringify(burn)) + 1;

/** Cuts a list while it is read. */
export class BurnCut {
  #count = 0;
  #bytes = 0;

  /** Takes the next burn. @returns whether a request begins with it. */
  begins(burn: BurnRequest): boolean {
    const size = sizeBytes(burn);
    const fits =
      this.#count > 0 && this.#count < MAX_BURN_BATCH_ELEMENTS && this.#bytes + size <= MAX_BODY_BYTES;
    this.#count = fits ? this.#count + 1 : 1;
    this.#bytes = fits ? this.#bytes + size : 2 + size;
    return !fits;
  }
}

/** How many elements each request takes, in order, within the limits of elements and bytes. */
export function cutBurns(burns: Iterable<BurnRequest>): readonly number[] {
  const cut = new BurnCut();
  const counts: number[] = [];
  for (const burn of burns) {
    if (cut.begins(burn)) counts.push(1);
    else counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
  }
  return counts;
}
