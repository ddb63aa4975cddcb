/**
 * A reverse proxy with the rules of `examples/deploy/Caddyfile`: a server that is not ready gets no new requests, a refused
 * connection moves to another server for any method, and only a GET is sent again.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onLoopback } from '../../support/loopback.js';

const LOOK_MS = 100;
const TRY_MS = 10_000;

export interface Balancer {
  readonly url: string;
  readonly ports: Set<number>;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** @returns the answer, or whether the connection was refused before anything was sent. */
function pass(asked: IncomingMessage, body: Buffer, port: number): Promise<Answer | 'refused' | 'cut'> {
  return new Promise((resolve) => {
    const { method, headers, url } = asked;
    const on = request({ host: '127.0.0.1', port, method, headers, path: url, agent: false }, (came) => {
      buffer(came).then(
        (text) => resolve({ status: came.statusCode ?? 500, headers: came.headers, body: text }),
        () => resolve('cut'),
      );
    });
    on.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ECONNREFUSED' ? 'refused' : 'cut'),
    );
    on.end(body);
  });
}

export async function startBalancer(): Promise<Balancer> {
  const ports = new Set<number>();
  const ready = new Set<number>();
  let turn = 0;
  const look = async (): Promise<void> => {
    for (const port of [...ready]) if (!ports.has(port)) ready.delete(port);
    await Promise.all(
      [...ports].map(async (port) => {
        const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
        if (isReady && ports.has(port)) ready.add(port);
        else ready.delete(port);
      }),
    );
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  const answer = async (asked: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const body = await buffer(asked);
    const untilMs = performance.now() + TRY_MS;
    while (performance.now() < untilMs) {
      const open = [...ready];
      turn += 1;
      const port = open[turn % open.length];
      if (port === undefined) {
        await look();
        continue;
      }
      const came = await pass(asked, body, port);
      if (typeof came === 'object') {
        reply.writeHead(came.status, came.headers).end(came.body);
        return;
      }
      if (came === 'refused') ready.delete(port);
      else if (asked.method !== 'GET') break;
    }
    reply.writeHead(502).end();
  };
  const server = createServer((asked, reply) => void answer(asked, reply).catch(() => reply.destroy()));
  const { url, close } = await onLoopback(server);
  return {
    url,
    ports,
    async close() {
      clearInterval(timer);
      await close();
    },
  };
}
