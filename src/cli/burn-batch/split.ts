/** A long list of burns → requests that the service takes, each with a key derived from the first. */
import { MAX_BODY_BYTES } from '../../contract/limits.js';
import { type BurnRequest, MAX_BURN_BATCH_ELEMENTS } from '../../contract/schemas/burn.js';
import { derivedUuid } from '../../values/ids.js';

/** One request of several. */
export interface BurnBatchPart {
  /** Index of its first element in the whole list. */
  readonly start: number;
  readonly burns: readonly BurnRequest[];
}

/** Brackets of the array, and a comma an element. */
const sizeBytes = (burn: BurnRequest): number => Buffer.byteLength(JSON.stringify(burn)) + 1;

/** The list in order, in parts within the limits of elements and bytes. The same list is always split the same way. */
export function splitBurns(burns: readonly BurnRequest[]): readonly BurnBatchPart[] {
  const starts: number[] = [];
  let bytes = 0;
  let count = 0;
  for (const [index, burn] of burns.entries()) {
    const size = sizeBytes(burn);
    if (index === 0 || count === MAX_BURN_BATCH_ELEMENTS || bytes + size > MAX_BODY_BYTES) {
      starts.push(index);
      bytes = 2;
      count = 0;
    }
    bytes += size;
    count += 1;
  }
  return starts.map((start, at) => ({ start, burns: burns.slice(start, starts[at + 1]) }));
}

/** The key of a part: the first has the key itself. */
export const partKey = (key: string, at: number): string => (at === 0 ? key : derivedUuid(key, String(at)));
