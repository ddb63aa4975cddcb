/** A proxy on loopback before a real service, that loses, cuts or refuses single requests as a test says. */
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface GateRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
}

/** An answer of the service that was passed on. */
export interface Passed extends GateRequest {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly content: Buffer;
}

/** What comes in place of an answer: an earlier one, with all its headers or none of them, or as if it were to this request. */
export interface Replay {
  readonly replay: Passed;
  readonly withHeaders: boolean;
  readonly withItsId?: boolean;
  /** Whether the request is carried out all the same. */
  readonly reaches: boolean;
}

/**
 * What becomes of a request: it is passed on; it is carried out and its answer is lost; half of it arrives; none of it does, and
 * the connection is closed or reset; it is refused here; or something else is answered than the service says, or without asking it.
 */
export type Fate =
  | 'pass'
  | 'lose'
  | 'cut'
  | 'drop'
  | 'reset'
  | { readonly refuse: number }
  | { readonly answer: unknown }
  | Replay
  /** Carried out, and the answer changed. */
  | { readonly alter: (answer: { status: number; body: unknown }) => { status: number; body: unknown } };

export interface Gate {
  readonly url: string;
  /** How many are under way now, also of clients that are gone. */
  readonly open: number;
  /** Of all that has come so far. */
  readonly requests: GateRequest[];
  /** Of all that was passed on. */
  readonly passed: Passed[];
  /** Decides about each request; everything passes until a test says otherwise. */
  fate: (request: GateRequest) => Fate | Promise<Fate>;
  close(): Promise<void>;
}

/** What a service, or whatever stands before it, says at the door. */
const REFUSALS: Readonly<Record<number, string>> = {
  401: 'ERR_UNAUTHORIZED',
  403: 'ERR_KEY_SCOPES_UNAUTHORIZED',
  404: 'ERR_NOT_FOUND',
  413: 'ERR_PAYLOAD_TOO_LARGE',
  429: 'ERR_RATE_LIMIT_EXCEEDED',
  503: 'ERR_UNAVAILABLE',
};

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const requestOf = ({ method = '', url = '', headers }: IncomingMessage): GateRequest => ({
  ...{ method, path: url, key: headers['x-idempotency-key']?.toString() },
});

const respond = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

function answerHere(response: ServerResponse, fate: { refuse: number } | { answer: unknown }): void {
  if ('answer' in fate) respond(response, 200, fate.answer);
  else {
    const error = REFUSALS[fate.refuse] ?? 'ERR_INTERNAL';
    respond(response, fate.refuse, { error, message: 'Refused at the door.' });
  }
}

function answerAgain(
  { headers: asked }: IncomingMessage,
  response: ServerResponse,
  { replay, withHeaders, withItsId = false }: Replay,
): void {
  const headers = withHeaders ? replay.headers : { 'content-type': 'application/json' };
  const id = withItsId ? { 'x-request-id': asked['x-request-id'] } : {};
  response.writeHead(replay.status, { ...headers, ...id }).end(replay.content);
}

/** @param keys - API keys that requests are passed on with, in turn: no limit is met, and a rotated key repeats nothing. */
export async function startGate(target: string, keys: readonly string[]): Promise<Gate> {
  const { port } = new URL(target);
  let turn = 0;
  let open = 0;
  const pass = (message: IncomingMessage, body: Buffer, bytes: number) =>
    new Promise<IncomingMessage | null>((resolve) => {
      const { method, url } = message;
      const headers = { ...message.headers, 'x-service-api-key': keys[turn++ % keys.length] };
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
    if (typeof fate === 'object' && !('alter' in fate)) return answerHere(response, fate);
    const bytes = fate === 'cut' ? Math.floor(body.length / 2) : body.length;
    const answer = fate === 'drop' ? null : await pass(message, body, bytes);
    // A service that dies in the middle of its answer has given none.
    const content = answer === null ? null : await bodyOf(answer).catch(() => null);
    if (answer === null || content === null || fate === 'lose') return void response.destroy();
    const status = answer.statusCode ?? 502;
    if (typeof fate !== 'object') {
      // The keys take turns, so that what is left of one says nothing.
      const { ratelimit: _left, ...headers } = answer.headers;
      gate.passed.push({ ...requestOf(message), status, headers, content });
      return void response.writeHead(status, headers).end(content);
    }
    const altered = fate.alter({ status, body: JSON.parse(content.toString()) });
    respond(response, altered.status, altered.body);
  };
  const server = createServer(async (message, response) => {
    // A client that is gone in the middle of its request has sent none.
    const body = await bodyOf(message).catch(() => null);
    if (body === null) return void response.destroy();
    const request = requestOf(message);
    gate.requests.push(request);
    open += 1;
    const fate = await gate.fate(request);
    if (fate === 'reset') message.socket.resetAndDestroy();
    else if (typeof fate === 'object' && 'replay' in fate) {
      const answer = fate.reaches ? await pass(message, body, body.length) : null;
      if (answer !== null) await bodyOf(answer);
      answerAgain(message, response, fate);
    } else await follow(fate, message, body, response);
    open -= 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const gate: Gate = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get open() {
      return open;
    },
    requests: [],
    passed: [],
    fate: () => 'pass',
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return gate;
}
