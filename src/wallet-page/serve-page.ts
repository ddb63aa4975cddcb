/**
 * Serves one page on loopback for one signature. The URL's token gives access, repeatedly and from any browser of this machine,
 * until the owner signs or declines. Data and signatures without the token get a 404.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { FlywheelError, isFlywheelError, wrapUnknown } from '../errors/flywheel-error.js';
import { pageHtml } from './page-html.js';
import type { PageFacts } from './page-script.js';

const HOST = '127.0.0.1';
/** Enough for a transaction in base64 as JSON. */
const MAX_BODY_BYTES = 4_096;
const REQUEST_TIMEOUT_MS = 10_000;
const TOKEN_BYTES = 32;
/** Shown without a valid token. */
const NOTHING = 'Nothing is here. Open the link that the command printed.\n';
const TOKEN_HEADER = 'x-flywheel-token';

/** After a signed transaction the page ends, or the owner signs again. */
export type Taken<Result> =
  | { readonly state: 'done'; readonly text: string; readonly result: Result }
  | { readonly state: 'again'; readonly text: string };

interface WalletPage<Result> {
  readonly facts: PageFacts;
  /** Builds the transaction, anew for each attempt. An error is shown, and the page stays open. */
  prepare(): Promise<Uint8Array>;
  /** Receives the signed transaction. An error is shown, and ends the page. */
  take(wire: Uint8Array): Promise<Taken<Result>>;
  /** Called when the page can be opened. */
  onListening(url: string): void;
  readonly signal: AbortSignal;
  /** The page ends after this time without a signed transaction. */
  readonly timeoutMs: number;
}

const newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url');
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
/** Constant time. */
const isSame = (left: string, right: string): boolean => timingSafeEqual(digest(left), digest(right));

const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  connection: 'close',
  // A wallet may open a popup, but no other page gets a reference to this one.
  'cross-origin-opener-policy': 'same-origin-allow-popups',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const contentPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

async function readBody(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request) {
    size += (part as Buffer).length;
    if (size > MAX_BODY_BYTES) return undefined;
    parts.push(part as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString('utf8'));
  } catch {
    return undefined;
  }
}

function transactionIn(body: unknown): Uint8Array | undefined {
  const text =
    typeof body === 'object' && body !== null && 'transaction' in body ? body.transaction : undefined;
  return typeof text === 'string' ? Uint8Array.from(Buffer.from(text, 'base64')) : undefined;
}

class PageServer<Result> {
  readonly #page: WalletPage<Result>;
  readonly #server: Server;
  readonly #token = newToken();
  readonly #ended: Promise<Result>;
  #resolve: (result: Result) => void = () => undefined;
  #reject: (error: FlywheelError) => void = () => undefined;
  #isTaking = false;
  #timer: NodeJS.Timeout | undefined;
  #origin = '';

  constructor(page: WalletPage<Result>) {
    this.#page = page;
    this.#ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS });
    this.#server.on(
      'request',
      (request, response) => void this.#answer(request, response).catch(() => response.destroy()),
    );
  }

  async run(): Promise<Result> {
    const { signal } = this.#page;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(0, HOST, resolve);
    });
    const { port } = this.#server.address() as { readonly port: number };
    this.#origin = `http://${HOST}:${port}`;
    const interrupt = (): void =>
      this.#fail(new FlywheelError('ERR_INTERRUPTED', 'Interrupted. Nothing was signed.'));
    signal.addEventListener('abort', interrupt, { once: true });
    this.#startTimer();
    try {
      if (signal.aborted) interrupt();
      // A browser does not send the fragment to a server.
      this.#page.onListening(`${this.#origin}/#${this.#token}`);
      return await this.#ended;
    } finally {
      clearTimeout(this.#timer);
      signal.removeEventListener('abort', interrupt);
      await this.#close();
    }
  }

  #startTimer(): void {
    const { timeoutMs } = this.#page;
    const text = `Nothing was signed within ${timeoutMs / 1_000} seconds.`;
    this.#timer = setTimeout(() => this.#fail(new FlywheelError('ERR_TIMEOUT', text)), timeoutMs);
  }

  /** A transaction that is being sent is not interrupted; its own outcome is reported. */
  #fail(error: FlywheelError): void {
    if (!this.#isTaking) this.#reject(error);
  }

  async #close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    if (request.headers.host !== this.#origin.slice('http://'.length)) return this.#nothing(response);
    if (request.method === 'GET' && path === '/') return this.#sendPage(response);
    if (request.method !== 'POST' || !this.#isFromPage(request)) return this.#nothing(response);
    const token = request.headers[TOKEN_HEADER];
    if (typeof token !== 'string' || !isSame(token, this.#token)) return this.#nothing(response);
    if (path === '/open') return this.#send(response, this.#page.facts);
    if (path === '/transaction') return this.#prepare(response);
    if (path === '/signed') return this.#take(request, response);
    if (path === '/decline' && !this.#isTaking) return this.#decline(response);
    return this.#nothing(response);
  }

  /** Pages of other origins cannot send these headers. */
  #isFromPage({ headers }: IncomingMessage): boolean {
    const site = headers['sec-fetch-site'];
    return (
      headers.origin === this.#origin &&
      headers['content-type'] === 'application/json' &&
      (site === undefined || site === 'same-origin')
    );
  }

  #nothing(response: ServerResponse): void {
    response
      .writeHead(404, { ...SECURITY_HEADERS, 'content-type': 'text/plain; charset=utf-8' })
      .end(NOTHING);
  }

  #sendPage(response: ServerResponse): void {
    const nonce = newToken();
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentPolicy(nonce),
    };
    response.writeHead(200, { ...SECURITY_HEADERS, ...headers }).end(pageHtml(nonce));
  }

  /** Resolves when the response was sent, so that closing the server does not cut it off; at once without a connection. */
  async #send(response: ServerResponse, value: object): Promise<void> {
    if (response.destroyed) return;
    await new Promise<void>((resolve) => {
      response.once('close', resolve);
      response
        .writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'application/json' })
        .end(JSON.stringify(value));
    });
  }

  async #prepare(response: ServerResponse): Promise<void> {
    try {
      const wire = await this.#page.prepare();
      await this.#send(response, { transaction: Buffer.from(wire).toString('base64') });
    } catch (error) {
      if (!isFlywheelError(error)) this.#fail(wrapUnknown(error));
      await this.#send(response, { problem: isFlywheelError(error) ? error.message : 'internal error.' });
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const wire = transactionIn(await readBody(request));
    if (wire === undefined || this.#isTaking) return this.#nothing(response);
    clearTimeout(this.#timer);
    this.#isTaking = true;
    try {
      const taken = await this.#page.take(wire);
      await this.#send(response, { state: taken.state, text: taken.text });
      if (taken.state === 'done') return this.#resolve(taken.result);
      this.#isTaking = false;
      if (this.#page.signal.aborted) return this.#fail(new FlywheelError('ERR_INTERRUPTED', 'Interrupted.'));
      this.#startTimer();
    } catch (thrown) {
      const error = wrapUnknown(thrown);
      const text = isFlywheelError(thrown) ? thrown.message : 'Failed. The terminal shows the reason.';
      await this.#send(response, { state: 'refused', text });
      this.#reject(error);
    }
  }

  async #decline(response: ServerResponse): Promise<void> {
    await this.#send(response, {});
    this.#fail(new FlywheelError('ERR_DECLINED', 'Declined. Nothing was signed.'));
  }
}

/** @throws `ERR_DECLINED`, `ERR_TIMEOUT`, `ERR_INTERRUPTED`, and errors of `take`. */
export const servePage = <Result>(page: WalletPage<Result>): Promise<Result> => new PageServer(page).run();
