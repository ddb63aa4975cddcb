/** Which proxy, if any, the way to the service leads through, as HTTPS_PROXY and NO_PROXY say. */
import { FlywheelError } from '../errors/flywheel-error.js';
import { Secret } from '../values/secret.js';
import { isLoopback } from './base-address.js';

/** From the environment. */
export interface ProxySettings {
  readonly httpsProxy?: string;
  readonly noProxy?: string;
}

export interface HttpProxy {
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

const DEFAULT_HTTPS_PORT = 443;

/**
 * Does NO_PROXY name the host? The rules are those of undici's EnvHttpProxyAgent: names separated by commas or white space,
 * each with or without a port; a name stands for itself and all below it; `*` alone stands for all.
 */
function needsNoProxy(base: URL, noProxy: string): boolean {
  if (noProxy === '*') return true;
  const hostname = base.hostname.toLowerCase();
  const port = base.port === '' ? DEFAULT_HTTPS_PORT : Number(base.port);
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
