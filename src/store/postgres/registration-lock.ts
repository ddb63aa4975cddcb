/** One registration at a time in a database, on whichever machine: of two that would pay for the same, the second is told at once. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { asAddressProblem, createPool, placeOf } from './connection.js';
import { toStoreError } from './errors.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** Of transactions, so that it works through a pooler as well. */
const TAKE = `select pg_try_advisory_xact_lock(hashtextextended('flywheel registration', 0)) as taken`;

/** @throws `ERR_STORE_UNAVAILABLE` while another has it; the server lets go of it with the connection. */
export async function lockRegistrations(url: string): Promise<{ close(): Promise<void> }> {
  const place = placeOf(url);
  const pool = createPool(url, 1, CONNECT_TIMEOUT_MS);
  try {
    const client = await pool.connect();
    // A connection that ends says so by an event, which would end the process: what is stored is looked at once more by then.
    client.on('error', () => undefined);
    const close = async (): Promise<void> => {
      client.release(true);
      await pool.end();
    };
    await client.query('begin');
    const { rows } = await client.query<{ taken: boolean }>(TAKE);
    if (rows[0]?.taken === true) return { close };
    await close();
  } catch (error) {
    throw toStoreError(asAddressProblem(error, place), place);
  }
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    'Another process is registering a project in this database. This command sent nothing.',
    { hint: 'Wait until it has finished, then run the same command again.' },
  );
}
