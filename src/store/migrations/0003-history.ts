/** What lists and reports of burns need: to find one by its proof, and what each has cost. */
import type { Migration } from './migration.js';

export const historySchema: Migration = {
  version: 4,
  name: 'history',
  statements: ({ integer }) => [
    // A part of the hash is enough to find a few, and takes a third of the room.
    'create index burns_of_proof on burns (substr(proof_hash, 1, 16))',
    // Unknown of burns that were settled before; of one that never landed there is none.
    `alter table burns add column fee_lamports ${integer}`,
  ],
};
