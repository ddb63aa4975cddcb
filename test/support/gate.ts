/** A proxy on loopback before a real service, which loses, cuts or refuses single requests. */
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onLoopback } from './loopback.js';

export interface GateRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
}

export interface Passed extends GateRequest {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly content: Buffer;
}

/** An earlier answer in place of the real one, with all or none of its headers. */
export interface Replay {
  readonly replay: Passed;
  readonly withHeaders: boolean;
  readonly withItsId?: boolean;
  readonly reaches: boolean;
}

/**
 * The outcome of a request: passed on; executed with its answer lost; half received; not received, the connection closed;
 * refused by the proxy; or answered with other content, with or without executing it. Other content of the same status
 * has the id of the request, as if from a service that lies.
 */
export type Fate =
  | 'pass'
  | 'lose'
  | 'cut'
  | 'drop'
  | { readonly refuse: number }
  | { readonly answer: unknown }
  | Replay
  | { readonly alter: (answer: Altered) => Altered };

interface Altered {
  status: number;
  body: unknown;
}

export interface Gate {
  readonly url: string;
  /** Requests in progress, including those of disconnected clients. */
  readonly open: number;
  readonly requests: GateRequest[];
  readonly passed: Passed[];
  /** Decides the outcome of each request. @default passes everything */
  fate: (request: GateRequest) => Fate | Promise<Fate>;
  close(): Promise<void>;
}

const REFUSALS: Readonly<Record<number, string>> = {
  401: 'ERR_UNAUTHORIZED',
  403: 'ERR_KEY_SCOPES_UNAUTHORIZED',
  404: 'ERR_NOT_FOUND',
  413: 'ERR_PAYLOAD_TOO_LARGE',
  429: 'ERR_RATE_LIMIT_EXCEEDED',
  503: 'ERR_UNAVAILABLE',
};

const requestOf = ({ method = '', url = '', headers }: IncomingMessage): GateRequest => ({
  ...{ method, path: url, key: headers['x-idempotency-key']?.toString() },
});

const idOf = ({ headers }: IncomingMessage) => ({ 'x-request-id': headers['x-request-id']?.toString() });

const respond = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string | undefined>> = {},
): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
};

function answerHere(
  message: IncomingMessage,
  response: ServerResponse,
  fate: { refuse: number } | { answer: unknown },
): void {
  if ('answer' in fate) respond(response, 200, fate.answer, idOf(message));
  else {
    const error = REFUSALS[fate.refuse] ?? 'ERR_INTERNAL';
    respond(response, fate.refuse, { error, message: 'Refused at the door.' });
  }
}

function answerAltered(
  message: IncomingMessage,
  response: ServerResponse,
  answer: Altered,
  { alter }: { readonly alter: (answer: Altered) => Altered },
): void {
  const { status, body } = alter(answer);
  respond(response, status, body, status === answer.status ? idOf(message) : {});
}

function answerAgain(
  message: IncomingMessage,
  response: ServerResponse,
  { replay, withHeaders, withItsId = false }: Replay,
): void {
  const headers = withHeaders ? replay.headers : { 'content-type': 'application/json' };
  response.writeHead(replay.status, { ...headers, ...(withItsId ? idOf(message) : {}) }).end(replay.content);
}

/**
 * @param keys - API keys used in turn, so that no rate limit is reached. Replaying a rotated key repeats nothing. @default those of
 * the requests
 */
export async function startGate(target: string, keys: readonly string[] = []): Promise<Gate> {
  const { port } = new URL(target);
  let turn = 0;
  let open = 0;
  const pass = (message: IncomingMessage, body: Buffer, bytes: number) =>
    new Promise<IncomingMessage | null>((resolve) => {
      const { method, url } = message;
      const key = keys[turn++ % keys.length];
      const headers = { ...message.headers, ...(key === undefined ? {} : { 'x-service-api-key': key }) };
      const upstream = send({ host: '127.0.0.1', port, method, path: url, headers, agent: false });
      upstream.once('response', resolve).once('error', () => resolve(null));
      if (bytes === body.length) upstream.end(body);
      else upstream.write(body.subarray(0, bytes), () => upstream.destroy());
    });
  const follow = async (
    fate: Exclude<Fate, Replay>,
    message: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ) => {
    if (typeof fate === 'object' && !('alter' in fate)) return answerHere(message, response, fate);
    const bytes = fate === 'cut' ? Math.floor(body.length / 2) : body.length;
    const answer = fate === 'drop' ? null : await pass(message, body, bytes);
    // A service that dies in the middle of its answer gives no answer.
    const content = answer === null ? null : await buffer(answer).catch(() => null);
    if (answer === null || content === null || fate === 'lose') return void response.destroy();
    const status = answer.statusCode ?? 502;
    if (typeof fate !== 'object') {
      // With keys in turn the remaining quota of one key has no meaning.
      const { ratelimit: _left, ...headers } = answer.headers;
      gate.passed.push({ ...requestOf(message), status, headers, content });
      return void response.writeHead(status, headers).end(content);
    }
    answerAltered(message, response, { status, body: JSON.parse(content.toString()) }, fate);
  };
  const server = createServer(async (message, response) => {
    // A client that disconnects in the middle of its request sends none.
    const body = await buffer(message).catch(() => null);
    if (body === null) return void response.destroy();
    const request = requestOf(message);
    gate.requests.push(request);
    open += 1;
    const fate = await gate.fate(request);
    if (typeof fate === 'object' && 'replay' in fate) {
      const answer = fate.reaches ? await pass(message, body, body.length) : null;
      if (answer !== null) await buffer(answer);
      answerAgain(message, response, fate);
    } else await follow(fate, message, body, response);
    open -= 1;
  });
  // It passes on how long the service keeps a connection.
  server.keepAliveTimeout = 0;
  const gate: Gate = {
    ...(await onLoopback(server)),
    get open() {
      return open;
    },
    requests: [],
    passed: [],
    fate: () => 'pass',
  };
  return gate;
}
