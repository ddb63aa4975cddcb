/** An HTTP server with scripted answers. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onLoopback } from './loopback.js';

interface StubRequest {
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

/** Records each request; `count` is 1 for the first. */
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
  const { url, close } = await onLoopback(server);
  return { url, requests, close };
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): StubAnswer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

export const inTurn =
  (...answers: readonly StubAnswer[]): StubAnswer =>
  (request, response, count) =>
    answers[Math.min(count, answers.length) - 1]?.(request, response, count);
