/** A server that misbehaves as told, and a TCP proxy that cuts connections where told. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';

export interface StubRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Stub {
  readonly url: string;
  readonly requests: StubRequest[];
  close(): Promise<void>;
}

export type StubAnswer = (request: StubRequest, response: ServerResponse, count: number) => void;

const listen = async (server: ReturnType<typeof createTcpServer>): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

/** Notes each request and answers it as told; `count` is 1 for the first. */
export async function startStub(answer: StubAnswer): Promise<Stub> {
  const requests: StubRequest[] = [];
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const request = {
        method: message.method ?? '',
        url: message.url ?? '',
        headers: message.headers,
        body: Buffer.concat(chunks).toString(),
      };
      requests.push(request);
      answer(request, response, requests.length);
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers with JSON. */
export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): StubAnswer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

/** Answers in turn; the last answer stays. */
export const inTurn =
  (...answers: readonly StubAnswer[]): StubAnswer =>
  (request, response, count) =>
    answers[Math.min(count, answers.length) - 1]?.(request, response, count);

/** Where a connection is cut: before anything reaches the server, in the middle of the request, or before the answer. */
export type Cut = 'none' | 'before' | 'during' | 'after';

export interface CuttingProxy {
  readonly url: string;
  /** For the connections that come next, in turn; after them nothing is cut. */
  cuts: Cut[];
  connections: number;
  close(): Promise<void>;
}

const HALF_REQUEST_BYTES = 40;

function join(client: Socket, port: number, cut: Cut): void {
  if (cut === 'before') {
    client.once('data', () => client.destroy());
    return;
  }
  const upstream = connect(port, '127.0.0.1');
  const end = (): void => {
    client.destroy();
    upstream.destroy();
  };
  client.on('error', end).on('close', end);
  upstream.on('error', end).on('close', end);
  client.on('data', (chunk: Buffer) => {
    if (cut !== 'during') {
      upstream.write(chunk);
      return;
    }
    upstream.write(chunk.subarray(0, HALF_REQUEST_BYTES), end);
  });
  upstream.on('data', (chunk: Buffer) => {
    if (cut === 'after') end();
    else client.write(chunk);
  });
}

/** A proxy on loopback to a port of loopback. */
export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  const proxy: CuttingProxy = { url: '', cuts: [], connections: 0, close: async () => undefined };
  const server = createTcpServer((client) => {
    sockets.add(client);
    client.on('close', () => sockets.delete(client));
    client.on('error', () => client.destroy());
    proxy.connections += 1;
    join(client, port, proxy.cuts.shift() ?? 'none');
  });
  const own = await listen(server);
  return Object.assign(proxy, {
    url: `http://127.0.0.1:${own}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  });
}
