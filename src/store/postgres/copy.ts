/** Tells data that was restored from the data that was there before. */
import { sql } from 'kysely';
import type { Session } from '../session.js';

/**
 * A copy is put in place by restoring tables, by another database, or by another server that recovers or takes over; the first
 * makes tables of another number, the second a database of another one, the third starts. A start that restored nothing only
 * makes everybody look once more.
 */
const NAME = sql<{ name: string }>`select concat_ws('/', pg_postmaster_start_time(), 'burns'::regclass::oid,
  (select oid from pg_database where datname = current_database())) as name`;

export async function nameOfCopy({ db }: Session): Promise<string> {
  const { rows } = await NAME.execute(db);
  return rows[0]?.name ?? '';
}
