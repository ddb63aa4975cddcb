/** One spelling for each host and each address of a service. */

const LOOPBACK = /^(?:localhost|\[::1\])$/;

/** Host and port, with names of this machine as 127.0.0.1, without a final dot and a default port. */
export function hostOf({ hostname, port }: URL): string {
  const name = hostname.replace(/\.$/, '').replace(LOOPBACK, '127.0.0.1');
  return port === '' ? name : `${name}:${port}`;
}

/** Unreserved characters mean the same percent-encoded and plain (RFC 3986, section 6.2.2.2). */
const UNRESERVED = /[A-Za-z0-9._~-]/;

const plain = (encoded: string): string => {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return UNRESERVED.test(character) ? character : encoded.toUpperCase();
};

/**
 * One address for all spellings of a service, so that the journal treats them as one.
 * @param address - http or https, without user, query and fragment.
 */
export function servicePlace(address: string): string {
  const url = new URL(address);
  const path = url.pathname
    .replace(/%[0-9a-f]{2}/gi, plain)
    .replace(/\/+/g, '/')
    .replace(/\/$/, '');
  return `${url.protocol}//${hostOf(url)}${path}`;
}
