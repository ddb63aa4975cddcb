/** What a burn-batch is begun with, as a command has it and as the journal keeps it. */
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { Entry } from '../journal/journal.js';
import type { EqualElements } from '../journal/spool.js';
import { notedFile, type OutputFile } from '../output/output-file.js';
import { BurnList, listOfBurns } from './burn-list.js';

/** What it burns, and where to write what failed. */
export interface BurnBatchBody {
  readonly list: BurnList;
  /** `null`: not asked for. */
  readonly failedOut: OutputFile | null;
}

/** As the journal keeps it; the burns stand beside it, in parts. */
export interface KeptBody {
  readonly failedOut: OutputFile | string | null;
  /** Burns of each part. */
  readonly counts: readonly number[];
  readonly equal: EqualElements | null;
}

/** As earlier versions have kept it. */
interface WholeBody {
  readonly failedOut: string | null;
  readonly burns: readonly BurnRequest[];
}

/** What the journal has kept of a burn-batch. */
export function keptBody(entry: Entry, kept: KeptBody | WholeBody): BurnBatchBody {
  const failedOut = notedFile(kept.failedOut);
  if ('burns' in kept) return { list: listOfBurns(kept.burns), failedOut };
  const { counts, equal } = kept;
  return { list: new BurnList({ counts, equal: equal ?? undefined }, (part) => entry.part(part)), failedOut };
}
