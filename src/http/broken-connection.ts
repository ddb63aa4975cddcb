/** Answers to what is not HTTP: written to the socket by hand, in the shape of every other error. */
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { toProblem } from './problem.js';
import { requestIdFrom } from './request-id.js';

/** Node's names for what was wrong with the request, with the status that HTTP has for it. */
const CAUSES: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The header lines are too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The chunk extensions are too large.' },
};

/** The whole answer as text, for a connection that ends with it. */
function answerText(error: FlywheelError, requestId: string): string {
  const { status, body } = toProblem(error, requestId);
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    `${REQUEST_ID_HEADER}: ${requestId}`,
    'cache-control: no-store',
    'connection: close',
    '',
    text,
  ].join('\r\n');
}

/** Answers an `expect` header that asks for more than 100-continue. */
export function answerExpectation(request: IncomingMessage, response: ServerResponse): void {
  const requestId = requestIdFrom(request.headers[REQUEST_ID_HEADER]);
  const error = new FlywheelError('ERR_INVALID_REQUEST', 'The only expectation that is met is 100-continue.');
  const { status, body } = toProblem(error, requestId);
  const text = JSON.stringify(body);
  response
    .writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
      [REQUEST_ID_HEADER]: requestId,
      'cache-control': 'no-store',
      connection: 'close',
    })
    .end(text);
}

/** Answers, if the peer still listens, and closes. @returns the request id that was given. */
export function answerBrokenConnection(error: NodeJS.ErrnoException, socket: Socket): string {
  const requestId = randomUUID();
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return requestId;
  }
  const { status, message } = CAUSES[error.code ?? ''] ?? {
    status: 400,
    message: 'The request is not valid HTTP.',
  };
  socket.end(answerText(new FlywheelError('ERR_INVALID_REQUEST', message, { status }), requestId), () =>
    socket.destroy(),
  );
  return requestId;
}
