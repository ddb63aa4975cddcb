/** An HTTP server with scripted answers. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onLoopback } from './loopback.js';

interface StubRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Stub = Awaited<ReturnType<typeof startStub>>;

export type StubAnswer = (request: StubRequest, response: ServerResponse, count: number) => void;

/** Records each request; `count` is 1 for the first. */
export async function startStub(answer: StubAnswer) {
  const requests: StubRequest[] = [];
  const server = createServer(async (message, response) => {
    const { method = '', url = '', headers } = message;
    // A client that disconnects in the middle of its request sends none.
    const body = await text(message).catch(() => null);
    if (body === null) return;
    const request = { method, url, headers, body };
    requests.push(request);
    answer(request, response, requests.length);
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
