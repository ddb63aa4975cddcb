/**
 * Gives out numbers of burns, batches, bundles and votes. Each is taken on a connection beside the transaction that uses it, and
 * for good: within it the row of the counter would let one transaction of all projects commit at a time. The commit does not
 * wait for the disk: it stands in the log before whatever uses the number, and is on disk with it.
 */
import type pg from 'pg';
import type { TakeNumbers } from '../session.js';
import { toStoreError } from './errors.js';

const TAKE = 'update counters set value = value + $2 where name = $1 returning value';

/** @param pool - of one connection, whose commits do not wait for the disk. */
export const createNumbers =
  (pool: pg.Pool, place: string): TakeNumbers =>
  async (name, count) => {
    try {
      const { rows } = await pool.query<{ readonly value: number }>({
        name: 'take numbers',
        text: TAKE,
        values: [name, count],
      });
      return Number(rows[0]?.value) - count + 1;
    } catch (error) {
      throw toStoreError(error, place);
    }
  };
