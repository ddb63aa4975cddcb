/**
 * Opens one connection to the service, through the proxy if configured, or explains the failure.
 *
 * Not undici's ProxyAgent: in 7.30.2 it retries a proxy that closes during CONNECT without end (nodejs/undici#3897), waits five
 * minutes for a silent one, and ignores timeout and signal of the request (nodejs/undici#3944).
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { FlywheelError } from '../errors/flywheel-error.js';
import { Secret } from '../values/secret.js';
import {
  type ConnectionProblem,
  connectionProblem,
  type Ending,
  noTunnel,
  refusedByProxy,
} from './connection-failure.js';

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));

/** Hosts whose traffic never leaves this machine. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export const isLoopback = (url: URL): boolean => LOOPBACK_HOST.test(url.hostname);

export interface ProxySettings {
  readonly httpsProxy?: string;
  readonly noProxy?: string;
}

interface HttpProxy {
  /** Without user and password, so it may be shown. */
  readonly url: URL;
  readonly authorization?: Secret;
}

/** The value may contain a password, so the message omits it. */
const refuse = (what: string): FlywheelError =>
  new FlywheelError('ERR_CONFIG_INVALID', `HTTPS_PROXY ${what}.`, {
    hint: 'Write it as http://[user:password@]host:port or https://….',
  });

function authorizationOf(url: URL): Secret | undefined {
  if (url.username === '' && url.password === '') return undefined;
  try {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    return new Secret(`Basic ${Buffer.from(pair).toString('base64')}`);
  } catch {
    throw refuse('has a user or password with wrong percent-encoding');
  }
}

function parseProxy(text: string): HttpProxy {
  if (!URL.canParse(text)) throw refuse('is not the address of a proxy');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refuse('is not an http or https address');
  const authorization = authorizationOf(url);
  return { url: new URL(url.origin), ...(authorization === undefined ? {} : { authorization }) };
}

/**
 * Rules of undici's EnvHttpProxyAgent: names separated by commas or white space, each with an optional port. A name matches
 * itself and its subdomains; `*` alone matches every host.
 */
function needsNoProxy(base: URL, noProxy: string): boolean {
  if (noProxy === '*') return true;
  const hostname = base.hostname.toLowerCase();
  const port = portOf(base);
  return noProxy.split(/[,\s]/).some((entry) => {
    const [, name = entry, ownPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const suffix = name.replace(/^\*?\./, '').toLowerCase();
    if (entry === '' || (ownPort !== undefined && Number(ownPort) !== 0 && Number(ownPort) !== port))
      return false;
    return hostname === suffix || hostname.endsWith(`.${suffix}`);
  });
}

/**
 * Plain http and loopback never use a proxy, which would see the API key. @throws `ERR_CONFIG_INVALID` for an invalid proxy
 * that would be used.
 */
export function proxyFor(base: URL, { httpsProxy, noProxy = '' }: ProxySettings): HttpProxy | undefined {
  if (httpsProxy === undefined || httpsProxy === '') return undefined;
  if (base.protocol !== 'https:' || isLoopback(base) || needsNoProxy(base, noProxy)) return undefined;
  return parseProxy(httpsProxy);
}

export interface Route {
  readonly base: URL;
  readonly proxy?: HttpProxy | undefined;
  /** Built-in plus extra authorities. Only TLS calls it, because reading them takes longer than an exchange. */
  readonly secureContext?: (() => SecureContext) | undefined;
}

/** There is no connection, so nothing of the request was sent. */
export class DialError extends Error {
  readonly problem: ConnectionProblem;

  constructor(problem: ConnectionProblem, cause?: unknown) {
    super(problem.reason, cause === undefined ? {} : { cause });
    this.name = 'DialError';
    this.problem = problem;
  }
}

const MAX_HEAD_BYTES = 16_384;
const END_OF_HEAD = '\r\n\r\n';
const KEEP_ALIVE_MS = 60_000;
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

const ignore = (): void => undefined;

type ProblemOf = (ending: unknown) => ConnectionProblem;

/** One step of dialling. The socket is destroyed unless the step succeeds. */
function step(
  socket: Socket,
  signal: AbortSignal,
  problemOf: ProblemOf,
  begin: (done: () => void, fail: (problem: ConnectionProblem) => void) => void,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      signal.removeEventListener('abort', onAbort);
      socket.off('error', onError).off('close', onClose);
    };
    const fail = (problem: ConnectionProblem, cause?: unknown): void => {
      end();
      socket.destroy();
      reject(new DialError(problem, cause));
    };
    const onError = (error: unknown): void => fail(problemOf(error), error);
    const onClose = (): void => fail(problemOf('closed' satisfies Ending));
    const onAbort = (): void => fail(problemOf('too late' satisfies Ending));
    // Between two steps no other listener exists; an error then appears at the next use of the socket.
    socket.on('error', ignore).on('error', onError).on('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    begin(() => {
      end();
      resolve(socket);
    }, fail);
    if (signal.aborted) onAbort();
  });
}

const tlsOptions = (host: string, secureContext: Route['secureContext']) => ({
  host,
  ALPNProtocols: ['http/1.1'],
  // SNI does not allow IP addresses (RFC 6066, section 3).
  ...(isIP(host) === 0 ? { servername: host } : {}),
  ...(secureContext === undefined ? {} : { secureContext: secureContext() }),
});

function reach(url: URL, name: string, { secureContext }: Route, signal: AbortSignal): Promise<Socket> {
  const [host, port] = [hostOf(url), portOf(url)];
  const secure = url.protocol === 'https:';
  const socket = secure
    ? connectTls({ ...tlsOptions(host, secureContext), port })
    : connectTcp({ host, port });
  socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
  const problemOf: ProblemOf = (ending) => connectionProblem(ending, name);
  return step(socket, signal, problemOf, (done) => socket.once(secure ? 'secureConnect' : 'connect', done));
}

const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: |\r)/;

/** `undefined`: the head is still incomplete. */
function readHead(head: Buffer, base: URL, proxy: HttpProxy): 'open' | ConnectionProblem | undefined {
  const end = head.indexOf(END_OF_HEAD);
  if (end < 0 && head.length <= MAX_HEAD_BYTES) return undefined;
  const [proxyHost, host] = [proxy.url.host, base.host];
  const [, status] = STATUS_LINE.exec(head.toString('latin1')) ?? [];
  if (end < 0 || status === undefined)
    return noTunnel(proxyHost, host, 'answered with something that is not HTTP');
  if (!status.startsWith('2')) return refusedByProxy(Number(status), proxyHost, host);
  // In TLS the client speaks first: bytes from the server at this point come from the proxy.
  if (head.length > end + END_OF_HEAD.length)
    return noTunnel(proxyHost, host, 'answered in place of the service');
  return 'open';
}

function openTunnel(socket: Socket, base: URL, proxy: HttpProxy, signal: AbortSignal): Promise<Socket> {
  const problemOf: ProblemOf = (ending) =>
    noTunnel(proxy.url.host, base.host, ending === 'too late' ? 'stayed silent' : 'broke off');
  return step(socket, signal, problemOf, (done, fail) => {
    let head = Buffer.alloc(0);
    const onReadable = (): void => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read())
        head = Buffer.concat([head, chunk]);
      const read = readHead(head, base, proxy);
      if (read === undefined) return;
      socket.off('readable', onReadable);
      if (read === 'open') done();
      else fail(read);
    };
    socket.on('readable', onReadable);
    const authority = `${base.hostname}:${portOf(base)}`;
    const login =
      proxy.authorization === undefined ? '' : `proxy-authorization: ${proxy.authorization.reveal()}\r\n`;
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${login}\r\n`);
  });
}

/** @throws {@link DialError}, also when the signal is aborted; every socket is closed then. */
export async function dial(route: Route, signal: AbortSignal): Promise<Socket> {
  const { base, proxy, secureContext } = route;
  if (proxy === undefined) return reach(base, base.host, route, signal);
  const socket = await reach(proxy.url, `the proxy ${proxy.url.host}`, route, signal);
  const tunnel = await openTunnel(socket, base, proxy, signal);
  const secured = connectTls({ ...tlsOptions(hostOf(base), secureContext), socket: tunnel });
  secured.once('close', () => tunnel.destroy());
  const problemOf: ProblemOf = (ending) => connectionProblem(ending, base.host);
  return step(secured, signal, problemOf, (done) => secured.once('secureConnect', done));
}
