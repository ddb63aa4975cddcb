/** Landings that a fork may still take back, and the one way in which what has landed becomes an intent again. */
import type { Migration } from './migration.js';

export const LANDINGS_VERSION = 3;

export const landingsSchema: Migration = {
  version: LANDINGS_VERSION,
  name: 'landings',
  statements: ({ integer, text }) => [
    `create table landings (
      burn_sequence ${integer} unique references burns (sequence),
      bundle_id ${text} unique references bundles (id),
      slot ${integer} not null check (slot >= 0),
      date_landed ${text} not null,
      fee_lamports ${text} not null,
      check ((burn_sequence is null) <> (bundle_id is null)))`,
  ],
};
