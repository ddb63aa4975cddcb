/** Which addresses and header names the client talks to, and where the API key may go. */
import { FlywheelError } from '../errors/flywheel-error.js';

const refuse = (message: string, hint?: string): never => {
  throw new FlywheelError('ERR_CONFIG_INVALID', message, hint === undefined ? {} : { hint });
};

/** Hosts that never leave this machine. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export const isLoopback = (url: URL): boolean => LOOPBACK_HOST.test(url.hostname);

/**
 * A base address, without the slash at its end; it may have a path.
 * @throws `ERR_CONFIG_INVALID` unless it is http or https without user, query and fragment.
 */
export function baseAddress(text: string): URL {
  if (!URL.canParse(text)) return refuse('The API address is not a URL.');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return refuse(`The API address must be https or http, got ${url.protocol.slice(0, 20)}//.`);
  }
  if (url.username !== '' || url.password !== '') {
    return refuse('The API address must not hold a user or a password.');
  }
  // An empty query or fragment is still there in the text.
  if (/[?#]/.test(url.href)) {
    return refuse('The API address must not hold a query or a fragment.');
  }
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

/** The address of a path below the base. */
export function addressBelow(base: URL, path: string): URL {
  const url = new URL(base);
  url.pathname = base.pathname.replace(/\/+$/, '') + path;
  return url;
}

/** @throws `ERR_CONFIG_INVALID` when the key would travel unencrypted over a network. */
export function checkKeyMayTravel(url: URL): void {
  if (url.protocol === 'https:' || isLoopback(url)) return;
  refuse(
    `The API key is not sent over plain http to ${url.host}.`,
    'Use an https address. Plain http is for this machine only.',
  );
}

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

/** Headers that HTTP or this client sets itself. */
const TAKEN_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'accept',
  'user-agent',
  'x-idempotency-key',
  'x-request-id',
]);

/** @throws `ERR_CONFIG_INVALID` for what is no header name, or the name of a header with another meaning. */
export function keyHeaderName(text: string): string {
  const name = text.toLowerCase();
  if (!HEADER_NAME.test(name) || TAKEN_HEADERS.has(name)) {
    return refuse(`Expected a header name for the API key, got ${JSON.stringify(text.slice(0, 100))}.`);
  }
  return name;
}

const HEADER_VALUE = /^[\x21-\x7e]{1,4096}$/;

/** An API key as a header value. @throws `ERR_CONFIG_INVALID`, without showing the key. */
export function keyHeaderValue(text: string): string {
  if (HEADER_VALUE.test(text)) return text;
  return refuse('The API key must be visible ASCII characters without spaces or line breaks.');
}
