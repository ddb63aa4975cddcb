/**
 * Starts one PostgreSQL for a whole run when the first test file asks for its address; each file has its own database.
 */
import { createServer } from 'node:http';
import { onLoopback } from './loopback.js';
import type { PostgresServer } from './postgres.js';

/** Vitest calls this function before the first file, and the function that it returns after the last. */
export default async function setup(): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const start = async (): Promise<PostgresServer> =>
    (await import('./postgres.js')).startPostgres('max_connections=200');
  const desk = createServer((_request, response) => {
    server ??= start();
    server.then(
      ({ url }) => response.end(url),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  const { url, close } = await onLoopback(desk);
  process.env['FLYWHEEL_TEST_POSTGRES'] = url;
  return async () => {
    await close();
    await (await server)?.stop();
  };
}
