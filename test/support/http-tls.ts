/** Loopback TLS servers that end with the test, with test certificates, and a tunnelling proxy. */
import { readFileSync } from 'node:fs';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps, type ServerOptions } from 'node:https';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { onLoopback } from './loopback.js';

const PEMS = new Map(
  [
    ...readFileSync('test/support/certificates.pem', 'utf8').matchAll(/^(.+): .+\n(-{5}BEGIN[^:]+-{5}\n)/gm),
  ].map(([, name, pem]) => [name, pem] as const),
);
const pemOf = (name: string): string => PEMS.get(name) ?? '';

export const TEST_CERTIFICATE = pemOf('test');
export const EXPIRED_CERTIFICATE = pemOf('expired');
export const EARLY_CERTIFICATE = pemOf('early');
export const OTHER_NAME_CERTIFICATE = pemOf('other name');
export const TEST_AUTHORITY = pemOf('authority');
export const ISSUED_CERTIFICATE = pemOf('issued');
export const TEST_PRIVATE_KEY = pemOf('key');

/**
 * @param asked - paths that the server received, or hosts that the proxy received.
 * @param seen - every byte that the proxy saw in plain text.
 */
async function running(server: ReturnType<typeof createHttp>, asked: string[], seen: string[]) {
  const { port, close } = await onLoopback(server);
  onTestFinished(close);
  return { port, asked, seen };
}

export function startTlsServer(
  options: ServerOptions = {},
  answer: (response: ServerResponse) => void = (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('null'),
): ReturnType<typeof running> {
  const asked: string[] = [];
  const tls = { cert: TEST_CERTIFICATE, key: TEST_PRIVATE_KEY, ...options };
  const server = createHttps(tls, (request, response) => {
    asked.push(request.url ?? '');
    answer(response);
  });
  return running(server, asked, []);
}

/** Tunnels every CONNECT to one loopback port, whatever its host; a secure proxy speaks TLS itself. */
export function startTunnel(port: number, { secure = false } = {}) {
  const [asked, seen]: [string[], string[]] = [[], []];
  const refuse = (request: IncomingMessage, response: ServerResponse): void => {
    seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.writeHead(500).end();
  };
  const server = secure
    ? createHttps({ cert: TEST_CERTIFICATE, key: TEST_PRIVATE_KEY }, refuse)
    : createHttp(refuse);
  server.on('connect', (request, client: Socket) => {
    asked.push(request.url ?? '');
    seen.push(JSON.stringify(request.headers));
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.on('data', (chunk: Buffer) => seen.push(chunk.toString('latin1')));
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  return running(server, asked, seen);
}
