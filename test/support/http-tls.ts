/** Loopback TLS servers that end with the test, with test certificates. */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer as createHttps, type ServerOptions } from 'node:https';
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

/** @returns `asked`: paths that the server received. */
export async function startTlsServer(
  options: ServerOptions = {},
  answer: (response: ServerResponse) => void = (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('null'),
) {
  const asked: string[] = [];
  const tls = { cert: TEST_CERTIFICATE, key: TEST_PRIVATE_KEY, ...options };
  const server = createHttps(tls, (request, response) => {
    asked.push(request.url ?? '');
    answer(response);
  });
  const { port, close } = await onLoopback(server);
  onTestFinished(close);
  return { port, asked };
}
