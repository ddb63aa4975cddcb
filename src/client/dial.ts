/**
 * One connection to the service, through the proxy if there is one, ready for HTTP; or the reason why there is none.
 *
 * undici's own ProxyAgent is not used: in 7.30.2 a proxy that closes during CONNECT is asked again without end
 * (nodejs/undici#3897), one that stays silent is waited for five minutes, and neither time-out nor signal of the request
 * reaches it (nodejs/undici#3944).
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

/** That of the scheme where the address names none. */
const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80));

/** Hosts that never leave this machine. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export const isLoopback = (url: URL): boolean => LOOPBACK_HOST.test(url.hostname);

/** From HTTPS_PROXY and NO_PROXY. */
export interface ProxySettings {
  readonly httpsProxy?: string;
  readonly noProxy?: string;
}

interface HttpProxy {
  /** Without user and password, so that it may be shown. */
  readonly url: URL;
  /** Value of `proxy-authorization`. */
  readonly authorization?: Secret;
}

/** The value is not part of the message: it may hold a password. */
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

/** Only host, port, user and password count. @throws `ERR_CONFIG_INVALID` unless it is an http or https address. */
function parseProxy(text: string): HttpProxy {
  if (!URL.canParse(text)) throw refuse('is not the address of a proxy');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refuse('is not an http or https address');
  const authorization = authorizationOf(url);
  return { url: new URL(url.origin), ...(authorization === undefined ? {} : { authorization }) };
}

/**
 * Does NO_PROXY name the host? The rules are those of undici's EnvHttpProxyAgent: names separated by commas or white space,
 * each with or without a port; a name stands for itself and all below it; `*` alone stands for all.
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
 * The proxy to a base address, or `undefined`. Plain http and loopback never pass through one: it would see the key.
 * @throws `ERR_CONFIG_INVALID` for a proxy that would be used and is none; what it was is not shown.
 */
export function proxyFor(base: URL, { httpsProxy, noProxy = '' }: ProxySettings): HttpProxy | undefined {
  if (httpsProxy === undefined || httpsProxy === '') return undefined;
  if (base.protocol !== 'https:' || isLoopback(base) || needsNoProxy(base, noProxy)) return undefined;
  return parseProxy(httpsProxy);
}

/** The way to the service. */
export interface Route {
  readonly base: URL;
  readonly proxy?: HttpProxy | undefined;
  /** Trusted authorities, where they are more than the built-in ones; to read them all takes longer than an exchange, so only TLS asks. */
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

/** Far more than the head of an answer to CONNECT takes. */
const MAX_HEAD_BYTES = 16_384;
const END_OF_HEAD = '\r\n\r\n';
const KEEP_ALIVE_MS = 60_000;
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

const ignore = (): void => undefined;

/** What a step makes of an error, or of an end without one. */
type ProblemOf = (ending: unknown) => ConnectionProblem;

/** One step of a dial: the socket comes back when it is ready; it is destroyed when anything else happens first. */
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
    // Between two steps, and after the end, nobody else listens; an error then shows at the next use of the socket.
    socket.on('error', ignore).on('error', onError).on('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    begin(() => {
      end();
      resolve(socket);
    }, fail);
    if (signal.aborted) onAbort();
  });
}

/** What TLS with a host needs to know. */
const tlsOptions = (host: string, secureContext: Route['secureContext']) => ({
  host,
  ALPNProtocols: ['http/1.1'],
  // An address is no name to ask for (RFC 6066, section 3).
  ...(isIP(host) === 0 ? { servername: host } : {}),
  ...(secureContext === undefined ? {} : { secureContext: secureContext() }),
});

/** A connection to the first host on the way, with TLS if its address says so. */
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

/** What the proxy said so far: a tunnel, a reason why there is none, or nothing yet. */
function readHead(head: Buffer, base: URL, proxy: HttpProxy): 'open' | ConnectionProblem | undefined {
  const end = head.indexOf(END_OF_HEAD);
  if (end < 0 && head.length <= MAX_HEAD_BYTES) return undefined;
  const [proxyHost, host] = [proxy.url.host, base.host];
  const [, status] = STATUS_LINE.exec(head.toString('latin1')) ?? [];
  if (end < 0 || status === undefined)
    return noTunnel(proxyHost, host, 'answered with something that is not HTTP');
  if (!status.startsWith('2')) return refusedByProxy(Number(status), proxyHost, host);
  // In TLS the client speaks first: what comes before can only be the proxy's own.
  if (head.length > end + END_OF_HEAD.length)
    return noTunnel(proxyHost, host, 'answered in place of the service');
  return 'open';
}

/** Asks the proxy for a tunnel. */
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

/**
 * Dials until the service can be spoken to.
 * @throws {@link DialError}, also when the signal is aborted; nothing is left open then.
 */
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
