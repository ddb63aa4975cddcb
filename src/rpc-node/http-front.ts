/** The node on HTTP: bodies in, answers out, for pages of every origin; and the answers that go wrong on purpose. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WrongAnswer } from './faults/fault-rules.js';
import type { CallFault } from './faults/faults.js';
import { type JsonRpc, readAsked } from './json-rpc.js';

/** Bytes of a body at most. */
export const MAX_BODY_BYTES = 1_024 * 1_024;

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, GET, OPTIONS',
  'access-control-max-age': '86400',
};
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

const wrongAnswers: Readonly<Record<WrongAnswer, (text: string) => readonly [type: string, text: string]>> = {
  html: () => ['text/html', '<!doctype html><html><body><h1>Checking your browser</h1></body></html>'],
  text: () => ['text/plain', 'upstream connect error or disconnect/reset before headers'],
  id: (text) => ['application/json', text.replace(/"id":(?:"[^"]*"|[^,}]*)\}$/, '"id":987654321}')],
  shape: () => ['application/json', '{"jsonrpc":"2.0","result":{"context":[],"value":"?"},"id":1}'],
  empty: () => ['application/json', ''],
  cut: (text) => ['application/json', text.slice(0, Math.ceil(text.length / 2))],
};

/** The whole body, or `null` when it is too large or breaks off. */
function readBody(request: IncomingMessage): Promise<string | null> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let size = 0;
    request.on('data', (piece: Buffer) => {
      size += piece.length;
      if (size <= MAX_BODY_BYTES) pieces.push(piece);
      else resolve(null);
    });
    request.once('end', () => resolve(Buffer.concat(pieces).toString('utf8')));
    request.once('error', () => resolve(null));
    request.once('close', () => resolve(null));
  });
}

/** The worst of what was drawn for the calls of one request. */
const worst = (faults: readonly CallFault[]): CallFault | undefined =>
  faults.find(({ kind }) => kind !== 'none');

function allowedHeaders({ headers }: IncomingMessage): string {
  const asked = headers['access-control-request-headers'];
  return typeof asked === 'string' && /^[\w\s,-]{1,1000}$/.test(asked) ? asked : 'content-type';
}

/** Sends text; a reader who has gone is no trouble. */
function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  text = '',
): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, { ...CORS, ...headers, 'content-length': String(Buffer.byteLength(text)) });
  response.end(text);
}

/** Answers requests with a node's JSON-RPC. */
export class HttpFront {
  readonly #rpc: JsonRpc;

  constructor(rpc: JsonRpc) {
    this.#rpc = rpc;
  }

  /** Never throws, and never answers where a fault says so. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    if (request.method === 'OPTIONS') {
      send(response, 204, { 'access-control-allow-headers': allowedHeaders(request) });
      return;
    }
    if (request.method === 'GET' && request.url?.split('?')[0] === '/health') {
      send(response, 200, { 'content-type': 'text/plain' }, 'ok');
      return;
    }
    if (request.method !== 'POST') {
      send(
        response,
        405,
        { 'content-type': 'text/plain', allow: 'POST, OPTIONS' },
        'Used HTTP Method is not allowed. POST or OPTIONS is required',
      );
      return;
    }
    const text = await readBody(request);
    if (text !== null) await this.#answer(text, response);
    else if (!request.destroyed) {
      send(response, 413, { 'content-type': 'text/plain', connection: 'close' }, 'The body is too large');
      request.resume();
    }
  }

  async #answer(text: string, response: ServerResponse): Promise<void> {
    const asked = readAsked(text);
    const faults = this.#rpc.faultsFor(asked);
    const fault = worst(faults);
    switch (fault?.kind) {
      case 'hang':
        return;
      case 'hangup':
        response.destroy();
        return;
      case 'busy': {
        const retry = { 'retry-after': String(fault.retryAfterSeconds) };
        const body = '{"jsonrpc":"2.0","error":{"code":429,"message":"Too many requests"},"id":null}';
        send(response, 429, { ...JSON_TYPE, ...retry }, body);
        return;
      }
      case 'unavailable':
        send(response, 503, { 'content-type': 'text/plain' }, 'Service unavailable');
        return;
      default:
        this.#finish(response, await this.#rpc.answer(asked, faults), fault);
    }
  }

  #finish(response: ServerResponse, answer: string, fault: CallFault | undefined): void {
    if (fault?.kind === 'unanswered') return;
    if (fault?.kind === 'wrong') {
      const [type, text] = wrongAnswers[fault.wrongAs](answer);
      send(response, 200, { 'content-type': type }, text);
    } else send(response, answer === '' ? 204 : 200, JSON_TYPE, answer);
  }
}
