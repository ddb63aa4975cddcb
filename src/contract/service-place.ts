/** Normalizes the address of a service, so that the journal treats its spellings as one service. */
import { hostOf } from '../values/host.js';

/** Unreserved characters mean the same percent-encoded and plain (RFC 3986, section 6.2.2.2). */
const UNRESERVED = /[A-Za-z0-9._~-]/;

const plain = (encoded: string): string => {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return UNRESERVED.test(character) ? character : encoded.toUpperCase();
};

/** @param address - http or https, without user, query and fragment. */
export function servicePlace(address: string): string {
  const url = new URL(address);
  const path = url.pathname
    .replace(/%[0-9a-f]{2}/gi, plain)
    .replace(/\/+/g, '/')
    .replace(/\/$/, '');
  return `${url.protocol}//${hostOf(url)}${path}`;
}
