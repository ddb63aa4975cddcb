/** Starts one PostgreSQL for a whole run when the first test file needs it; each file has its own database. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PostgresServer } from './postgres.js';
import { ASK } from './server-of-run.js';

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
  await new Promise<void>((resolve) => desk.listen(0, '127.0.0.1', resolve));
  process.env[ASK] = `http://127.0.0.1:${(desk.address() as AddressInfo).port}/`;
  return async () => {
    desk.closeAllConnections();
    desk.close();
    await (await server)?.stop();
  };
}
