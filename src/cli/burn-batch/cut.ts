/** How a long list of burns goes out in requests that the service takes. The cut is made once and kept. */
import { MAX_BODY_BYTES } from '../../contract/limits.js';
import { type BurnRequest, MAX_BURN_BATCH_ELEMENTS } from '../../contract/schemas/burn.js';
import { derivedUuid } from '../../values/ids.js';

/** Brackets of the array, and a comma an element. */
const sizeBytes = (burn: BurnRequest): number => Buffer.byteLength(JSON.stringify(burn)) + 1;

/** How many elements each request takes, in order, within the limits of elements and bytes. */
export function cutBurns(burns: readonly BurnRequest[]): readonly number[] {
  const counts: number[] = [];
  let bytes = 0;
  for (const burn of burns) {
    const size = sizeBytes(burn);
    const last = counts.length - 1;
    const count = counts[last] ?? 0;
    if (last < 0 || count === MAX_BURN_BATCH_ELEMENTS || bytes + size > MAX_BODY_BYTES) {
      counts.push(1);
      bytes = 2 + size;
    } else {
      counts[last] = count + 1;
      bytes += size;
    }
  }
  return counts;
}

/** The key of a request: the first has the key itself. */
export const partKey = (key: string, at: number): string => (at === 0 ? key : derivedUuid(key, String(at)));
