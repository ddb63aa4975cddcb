/** Starts one PostgreSQL for a whole run, in which each file of tests has a database of its own. */
import { RUN_SERVER, startPostgres } from './postgres.js';

/** Vitest calls it once for each project that names this file; the first call starts the server. */
export default async function setup(): Promise<() => Promise<void>> {
  if (process.env[RUN_SERVER] !== undefined) return async () => undefined;
  const server = await startPostgres('max_connections=200', 'fsync=off');
  process.env[RUN_SERVER] = server.url;
  return () => server.stop();
}
