/** Which header lines a request may have: what two programs could read differently is refused, not interpreted. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { checkIdempotencyKey, IDEMPOTENCY_KEY_HEADER } from '../contract/headers.js';
import type { Operation } from '../contract/operations.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { Secret } from '../values/secret.js';

const HARMLESS = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/** A header value as a request id. */
export const requestIdFrom = (header: string | readonly string[] | undefined): string =>
  typeof header === 'string' && HARMLESS.test(header) ? header : randomUUID();

/** Of these a request has one; node keeps the first of several, another program might keep the last. */
const SINGLE = ['host', 'content-type', 'content-length', 'transfer-encoding', 'authorization'];
/** Their lengths tell them apart, so that few names have to be looked at. */
const SINGLE_BY_LENGTH = new Map(SINGLE.map((name, place) => [name.length, { name, bit: 1 << place }]));

/** Lines that a request may have; node reads no more than it is told to, and says nothing of the rest. */
export const MAX_HEADER_LINES = 256;

/** What is wrong with the header lines, or `undefined`. */
function headerProblem({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  if (rawHeaders.length > 2 * MAX_HEADER_LINES)
    return `There are more than ${MAX_HEADER_LINES} header lines.`;
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at] as string;
    const single = SINGLE_BY_LENGTH.get(raw.length);
    if (single === undefined || raw.toLowerCase() !== single.name) continue;
    if ((seen & single.bit) !== 0) return `The header ${single.name} must not be repeated.`;
    seen |= single.bit;
  }
  if (headers.host === undefined && httpVersion === '1.1') return 'The header host is missing.';
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (coding.toLowerCase() !== 'chunked') return 'The only transfer-encoding that is understood is chunked.';
  if (headers['content-length'] === undefined) return undefined;
  return 'A body has a content-length or a transfer-encoding, not both.';
}

/**
 * @param onProblem - runs before the error is thrown: what comes behind such a request cannot be trusted either.
 * @throws `ERR_INVALID_REQUEST` naming the header that is missing, repeated or not understood, or for too many lines.
 */
export function checkRequestHeaders(request: IncomingMessage, onProblem: () => void): void {
  const problem = headerProblem(request);
  if (problem === undefined) return;
  onProblem();
  throw new FlywheelError('ERR_INVALID_REQUEST', problem);
}

const BEARER = /^bearer +([^\s]+)$/i;

/** The API key of a request: from its own header, or, where that is missing and allowed, as a bearer token. */
export function readCredential(
  { headers }: IncomingMessage,
  { apiKeyHeader, bearer }: { readonly apiKeyHeader: string; readonly bearer: boolean },
): Secret | null {
  const key = headers[apiKeyHeader];
  if (key !== undefined) return typeof key === 'string' && key !== '' ? new Secret(key) : null;
  const token = bearer ? BEARER.exec(headers.authorization ?? '')?.[1] : undefined;
  return token === undefined ? null : new Secret(token);
}

/** @throws `ERR_INVALID_REQUEST` when it is missing where required, or malformed. */
export function readIdempotencyKey(operation: Operation, { headers }: IncomingMessage): string | undefined {
  const value = headers[IDEMPOTENCY_KEY_HEADER];
  return checkIdempotencyKey(typeof value === 'string' ? value : undefined, operation.idempotencyKey);
}

const LOOPBACK_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

/**
 * Does the `host` header name this machine by its loopback, or the address that it listens on? A page in a browser that has
 * made its own name point here sends its own name (DNS rebinding).
 */
export function namesThisServer(host: string | undefined, listeningOn: string | undefined): boolean {
  const name = (host ?? '').replace(/:\d{1,5}$/, '').toLowerCase();
  if (LOOPBACK_NAME.test(name)) return true;
  if (listeningOn === undefined) return false;
  return name === (listeningOn.includes(':') ? `[${listeningOn}]` : listeningOn).toLowerCase();
}
