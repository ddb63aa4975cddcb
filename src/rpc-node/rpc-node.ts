/** A local RPC node: JSON-RPC over HTTP on one port, WebSocket subscriptions on the same and the next port. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:http';
import cors from '@fastify/cors';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Cluster } from './cluster.js';
import { answersOf, readAsked } from './json-rpc.js';
import { Subscriptions } from './subscriptions.js';

interface ListeningNode {
  readonly url: string;
  readonly webSocketUrl: string;
  /** Stops listening, answers pending requests, closes the ledger. @param graceMs - @default 1,000 */
  close(graceMs?: number): Promise<void>;
}

export interface ListenAddress {
  readonly host: string;
  /** 0 picks a free pair: subscriptions also use the next port. */
  readonly port: number;
}

type BodyHandler = (text: string, reply: FastifyReply) => Promise<void>;

const MAX_BODY_BYTES = 1_024 * 1_024;
const TIMEOUTS = { requestTimeout: 30_000, keepAliveTimeout: 65_000 };
const GRACE_MS = 1_000;
/**
 * Range and attempts for port 0. The range lies below the ephemeral ports, where a busy machine has no two free ports in a row.
 */
const ANY_PORTS = [10_240, 32_000] as const;
const PORT_TRIES = 100;

async function createApp(handle: BodyHandler): Promise<FastifyInstance> {
  const app = fastify({ bodyLimit: MAX_BODY_BYTES, forceCloseConnections: true, ...TIMEOUTS });
  await app.register(cors, { origin: '*', strictPreflight: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.get('/health', async () => 'ok');
  app.post('*', (request, reply) => handle(String(request.body ?? ''), reply));
  return app;
}

const isInUse = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EADDRINUSE';

/** Binds a port and the next one; any free pair for port 0. @throws `ERR_CONFIG_INVALID` when binding fails. */
async function listen(handle: BodyHandler, { host, port: wanted }: ListenAddress) {
  for (let tries = 1; ; tries += 1) {
    const port = wanted === 0 ? randomInt(...ANY_PORTS) : wanted;
    const app = await createApp(handle);
    const sockets = createServer((_request, response) => void response.writeHead(426).end());
    try {
      await new Promise<void>((resolve, reject) => {
        sockets.once('error', reject);
        sockets.listen({ host, port: port + 1 }, resolve);
      });
      await app.listen({ host, port });
      return { app, sockets, port };
    } catch (error) {
      sockets.close();
      await app.close();
      if (wanted === 0 && isInUse(error) && tries < PORT_TRIES) continue;
      const why = isInUse(error) ? 'one of them is in use' : (error as Error).message;
      throw new FlywheelError(
        'ERR_CONFIG_INVALID',
        `Cannot listen on ${host}, ports ${port} and ${port + 1}: ${why}.`,
        { cause: error, hint: 'Use another --port. Subscriptions use the port after it.' },
      );
    }
  }
}

/**
 * Serves a cluster; closing the node closes the cluster.
 * @param onFailure - called for internal failures.
 * @param handle - @default answers from the cluster
 * @throws `ERR_CONFIG_INVALID` when the node cannot listen.
 */
export async function startRpcNode(
  cluster: Cluster,
  onFailure: (error: unknown) => void,
  address: ListenAddress,
  handle: BodyHandler = async (text, reply) => {
    const answer = await answersOf(cluster, readAsked(text), onFailure);
    await (answer === '' ? reply.code(204).send() : reply.type('application/json').send(answer));
  },
): Promise<ListeningNode> {
  const { app, sockets, port } = await listen(handle, address);
  const subscriptions = new Subscriptions(cluster, onFailure);
  for (const server of [app.server, sockets])
    server.on('upgrade', (request, socket, head) => subscriptions.upgrade(request, socket, head));
  const timer = setInterval(() => subscriptions.notify(), cluster.slotMs);
  const close = async (graceMs: number): Promise<void> => {
    clearInterval(timer);
    subscriptions.close();
    const late = setTimeout(() => {
      subscriptions.terminate();
      app.server.closeAllConnections();
    }, graceMs);
    await Promise.all([app.close(), new Promise((resolve) => sockets.close(resolve))]);
    clearTimeout(late);
    cluster.close();
  };
  let closed: Promise<void> | undefined;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    url: `http://${host}:${port}`,
    webSocketUrl: `ws://${host}:${port + 1}`,
    close(graceMs = GRACE_MS) {
      closed ??= close(graceMs);
      return closed;
    },
  };
}
