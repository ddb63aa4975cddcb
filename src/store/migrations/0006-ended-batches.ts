/** A batch that failed may be executed to its end by members of the multisig, and is EXECUTED then. */
import type { Migration } from './migration.js';

export const ENDED_BATCHES_VERSION = 7;

/** All that it changes is a trigger. */
export const endedBatchesSchema: Migration = {
  version: ENDED_BATCHES_VERSION,
  name: 'ended-batches',
  statements: () => [],
};
