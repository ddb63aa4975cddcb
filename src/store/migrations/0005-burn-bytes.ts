/** The bytes of a burn beside it, for as long as they may be sent again: they are a third of it, and its pages are used anew. */
import type { Migration } from './migration.js';

export const BURN_BYTES_VERSION = 6;

export const burnBytesSchema: Migration = {
  version: BURN_BYTES_VERSION,
  name: 'burn-bytes',
  statements: ({ integer, bytes }) => [
    `create table burn_transactions (
      sequence ${integer} primary key references burns (sequence),
      bytes ${bytes} not null)`,
    `insert into burn_transactions (sequence, bytes) select sequence, signed_transaction from burns
      where status = 'PENDING' or exists (select 1 from landings where burn_sequence = burns.sequence)`,
    'alter table burns drop column signed_transaction',
  ],
};
