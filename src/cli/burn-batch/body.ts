/** What a burn-batch is begun with, as a command has it and as the journal keeps it. */
import type { Entry } from '../journal/journal.js';
import type { EqualElements } from '../journal/spool.js';
import type { OutputFile } from '../output/output-file.js';
import { BurnList } from './burn-list.js';

/** What it burns, and where to write what failed. */
export interface BurnBatchBody {
  readonly list: BurnList;
  /** `null`: not asked for. */
  readonly failedOut: OutputFile | null;
}

/** As the journal keeps it; the burns stand beside it, in parts. */
export interface KeptBody {
  readonly failedOut: OutputFile | null;
  /** Burns of each part. */
  readonly counts: readonly number[];
  readonly equal: EqualElements | null;
}

/** What the journal has kept of a burn-batch. */
export function keptBody(entry: Entry, { failedOut, counts, equal }: KeptBody): BurnBatchBody {
  return { list: new BurnList({ counts, equal: equal ?? undefined }, (part) => entry.part(part)), failedOut };
}
