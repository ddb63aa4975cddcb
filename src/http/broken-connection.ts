/** Answers to what is not HTTP: in the shape of every other error, and never ahead of the answers that are still due. */
import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { REQUEST_ID_HEADER } from '../contract/headers.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Connection } from './connections.js';
import { toProblem } from './problem.js';
import type { RequestLife } from './request-life.js';

/** Node's names for what was wrong with the request, with the status that HTTP has for it. */
const CAUSES: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The header lines are too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time.' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The chunk extensions are too large.' },
};

function brokenRequest(cause: NodeJS.ErrnoException): FlywheelError {
  const { status, message } = CAUSES[cause.code ?? ''] ?? {
    status: 400,
    message: 'The request is not valid HTTP.',
  };
  return new FlywheelError('ERR_INVALID_REQUEST', message, { status, cause });
}

const headersOf = (text: string, requestId: string): Readonly<Record<string, string>> => ({
  'content-type': 'application/json; charset=utf-8',
  'content-length': String(Buffer.byteLength(text)),
  [REQUEST_ID_HEADER]: requestId,
  'cache-control': 'no-store',
  connection: 'close',
});

/** The whole answer as text, for a connection that ends with it. */
function answerText(error: FlywheelError, requestId: string): string {
  const { status, body } = toProblem(error, requestId);
  const text = JSON.stringify(body);
  const headers = Object.entries(headersOf(text, requestId)).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...headers, '', text].join('\r\n');
}

/** Answers an `expect` header that asks for more than 100-continue. */
export function answerExpectation(life: RequestLife, response: ServerResponse): void {
  const error = new FlywheelError('ERR_INVALID_REQUEST', 'The only expectation that is met is 100-continue.');
  const { status, body } = toProblem(error, life.requestId);
  life.problemCode = error.wireCode;
  const text = JSON.stringify(body);
  response.writeHead(status, headersOf(text, life.requestId)).end(text);
}

/**
 * Answers what node could not read, and ends its connection. Where it breaks off a request that has begun, that request gets
 * the answer; else the answer goes out behind those of the requests before it.
 *
 * @param log - hears of what was no request, with the id that its answer bears.
 */
export function answerBrokenConnection(
  cause: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection | undefined,
  log: (requestId: string) => void,
): void {
  const begun = connection?.unanswered.at(-1);
  if (cause.code === 'ECONNRESET' || !socket.writable || connection === undefined) {
    if (begun === undefined) log(randomUUID());
    socket.destroy();
    return;
  }
  if (connection.isEnding) return;
  if (begun?.request.complete === false) {
    connection.isBroken = true;
    begun.break(brokenRequest(cause));
    return;
  }
  if (connection.isBroken) return;
  connection.isBroken = true;
  connection.whenQuiet(() => {
    const requestId = randomUUID();
    log(requestId);
    socket.write(answerText(brokenRequest(cause), requestId));
    connection.end();
  });
}
