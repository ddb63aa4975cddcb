/**
 * Opens one connection to the service, through the proxy if configured, or explains the failure.
 *
 * Not undici's ProxyAgent: in 7.30.2 it retries a proxy that closes during CONNECT without end (nodejs/undici#3897), waits five
 * minutes for a silent one, and ignores timeout and signal of the request (nodejs/undici#3944).
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { FlywheelError } from '../errors/flywheel-error.js';
import { Secret } from '../values/secret.js';
import {
  CLOSED,
  type ConnectionProblem,
  connectionProblem,
  howEnded,
  noTunnel,
  refusedByProxy,
  TOO_LATE,
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

const KEEP_ALIVE_MS = 60_000;
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

type ProblemOf = (ending: unknown) => ConnectionProblem;

/** The arguments of the event. @throws {@link DialError} if anything else comes first; everything is closed then */
function until<Arguments extends readonly unknown[]>(
  emitter: Socket | ClientRequest,
  event: string,
  signal: AbortSignal,
  problemOf: ProblemOf,
): Promise<Arguments> {
  return new Promise((resolve, reject) => {
    const fail = (ending: unknown): void => {
      emitter.destroy();
      reject(new DialError(problemOf(ending), ending));
    };
    const onAbort = (): void => fail(TOO_LATE);
    const onClose = (): void => fail(CLOSED);
    signal.addEventListener('abort', onAbort, { once: true });
    // This listener stays: between two steps no other one exists, and an error then appears at the next use of the socket.
    emitter.on('error', fail).once('close', onClose);
    emitter.once(event, (...given) => {
      signal.removeEventListener('abort', onAbort);
      emitter.off('close', onClose);
      resolve(given as unknown as Arguments);
    });
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

async function reach(url: URL, name: string, { secureContext }: Route, signal: AbortSignal): Promise<Socket> {
  const [host, port] = [hostOf(url), portOf(url)];
  const secure = url.protocol === 'https:';
  const socket = secure
    ? connectTls({ ...tlsOptions(host, secureContext), port })
    : connectTcp({ host, port });
  socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
  await until(socket, secure ? 'secureConnect' : 'connect', signal, (ending) =>
    connectionProblem(ending, name),
  );
  return socket;
}

async function openTunnel(socket: Socket, base: URL, proxy: HttpProxy, signal: AbortSignal): Promise<Socket> {
  const { request } = await import('node:http');
  const authority = `${base.hostname}:${portOf(base)}`;
  const login =
    proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization.reveal() };
  const asked = request({
    ...{ method: 'CONNECT', path: authority, headers: { host: authority, ...login } },
    createConnection: () => socket,
  });
  const [proxyHost, host] = [proxy.url.host, base.host];
  const problemOf: ProblemOf = (ending) => noTunnel(proxyHost, host, howEnded(ending));
  type Answer = [answer: IncomingMessage, tunnel: Socket, more: Buffer];
  const [{ statusCode = 0 }, tunnel, more] = await until<Answer>(asked.end(), 'connect', signal, problemOf);
  const isOpen = statusCode >= 200 && statusCode < 300;
  // In TLS the client speaks first: bytes from the server at this point come from the proxy.
  if (isOpen && more.length === 0) return tunnel;
  tunnel.destroy();
  throw new DialError(
    isOpen
      ? noTunnel(proxyHost, host, 'answered in place of the service')
      : refusedByProxy(statusCode, proxyHost, host),
  );
}

/** @throws {@link DialError}, also when the signal is aborted; every socket is closed then. */
export async function dial(route: Route, signal: AbortSignal): Promise<Socket> {
  const { base, proxy, secureContext } = route;
  if (proxy === undefined) return reach(base, base.host, route, signal);
  const socket = await reach(proxy.url, `the proxy ${proxy.url.host}`, route, signal);
  const tunnel = await openTunnel(socket, base, proxy, signal);
  const secured = connectTls({ ...tlsOptions(hostOf(base), secureContext), socket: tunnel });
  secured.once('close', () => tunnel.destroy());
  await until(secured, 'secureConnect', signal, (ending) => connectionProblem(ending, base.host));
  return secured;
}
