/** A proxy on loopback before a real service, which loses, cuts or refuses single requests. */
import { createServer, type IncomingMessage, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onLoopback } from '../support/loopback.js';

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
  | { readonly refuse: number; readonly withItsId?: boolean }
  | { readonly answer: unknown }
  | Replay
  | { readonly alter: (answer: Altered) => Altered };

export interface Altered {
  status: number;
  body: unknown;
  /** @default for the same status */
  withItsId?: boolean;
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

const JSON_TYPE = { 'content-type': 'application/json' };

const said = (status: number, body: unknown, headers: object = {}) => ({
  ...{ status, headers: { ...JSON_TYPE, ...headers } },
  content: Buffer.from(JSON.stringify(body)),
});

type Said = Pick<Passed, 'status' | 'headers' | 'content'>;

/** The answer in place of the one of the service, which `ask` gives. */
async function inPlace(
  fate: Exclude<Fate, string>,
  message: IncomingMessage,
  ask: () => Promise<Said | null>,
): Promise<Said | null> {
  const ownId = idOf(message);
  if ('refuse' in fate) {
    const error = REFUSALS[fate.refuse] ?? 'ERR_INTERNAL';
    return said(fate.refuse, { error, message: 'Refused at the door.' }, fate.withItsId ? ownId : {});
  }
  if ('answer' in fate) return said(200, fate.answer, ownId);
  if ('replay' in fate) {
    if (fate.reaches) await ask();
    const headers = fate.withHeaders ? fate.replay.headers : JSON_TYPE;
    return { ...fate.replay, headers: { ...headers, ...(fate.withItsId && ownId) } };
  }
  const answer = await ask();
  if (answer === null) return null;
  const given = fate.alter({ status: answer.status, body: JSON.parse(answer.content.toString()) });
  const { status, body, withItsId = status === answer.status } = given;
  return said(status, body, withItsId ? ownId : {});
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
  /** What the service answers; `null` where it does not get the request or dies in the middle of its answer. */
  const ask = async (message: IncomingMessage, body: Buffer, bytes = body.length) => {
    const answer = await pass(message, body, bytes);
    const content = answer === null ? null : await buffer(answer).catch(() => null);
    if (answer === null || content === null) return null;
    return { status: answer.statusCode ?? 502, headers: answer.headers, content };
  };
  const follow = async (fate: Fate, message: IncomingMessage, body: Buffer): Promise<Said | null> => {
    if (typeof fate === 'object') return inPlace(fate, message, () => ask(message, body));
    const bytes = fate === 'cut' ? Math.floor(body.length / 2) : body.length;
    const answer = fate === 'drop' ? null : await ask(message, body, bytes);
    if (answer === null || fate === 'lose') return null;
    // With keys in turn the remaining quota of one key has no meaning.
    const { ratelimit: _left, ...headers } = answer.headers;
    gate.passed.push({ ...requestOf(message), ...answer, headers });
    return { ...answer, headers };
  };
  const server = createServer(async (message, response) => {
    // A client that disconnects in the middle of its request sends none.
    const body = await buffer(message).catch(() => null);
    if (body === null) return void response.destroy();
    const request = requestOf(message);
    gate.requests.push(request);
    open += 1;
    const answer = await follow(await gate.fate(request), message, body);
    if (answer === null) response.destroy();
    else response.writeHead(answer.status, answer.headers).end(answer.content);
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
