/** Turns a call into a request: address, headers, key, body. All checks happen before anything is sent. */
import type { Call } from '../contract/call.js';
import {
  API_KEY_HEADER,
  checkIdempotencyKey,
  IDEMPOTENCY_KEY_HEADER,
  REQUEST_ID_HEADER,
} from '../contract/headers.js';
import { type Operation, pathParameters } from '../contract/operations.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { isLoopback } from '../transport/dial.js';
import { jsonText } from '../values/exact-number.js';
import { type Ids, isUuid } from '../values/ids.js';
import { createMask } from './mask.js';
import { OWN_REQUEST_ID, type PreparedCall } from './send.js';

const refuse = (message: string, hint?: string): never => {
  throw new FlywheelError('ERR_CONFIG_INVALID', message, hint === undefined ? {} : { hint });
};

/** The address may have a path. @throws `ERR_CONFIG_INVALID` unless it is http or https without user, query and fragment. */
export function baseAddress(text: string): URL {
  if (!URL.canParse(text)) return refuse('The API address is not a URL.');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return refuse(`The API address must be https or http, got ${url.protocol.slice(0, 20)}//.`);
  if (url.username !== '' || url.password !== '')
    return refuse('The API address must not contain a user or a password.');
  // `url.search` and `url.hash` are empty for a lone `?` or `#`, so the text is checked.
  if (/[?#]/.test(url.href)) return refuse('The API address must not contain a query or a fragment.');
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const HEADER_VALUE = /^[\x21-\x7e]{1,4096}$/;
const REQUEST_ID = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/** Headers that HTTP or this client sets itself. */
const TAKEN_HEADERS: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'content-length', 'content-type', 'transfer-encoding', 'upgrade', 'te'],
  ...['trailer', 'expect', 'accept', 'user-agent', IDEMPOTENCY_KEY_HEADER, REQUEST_ID_HEADER],
]);

export function keyHeaderName(text: string = API_KEY_HEADER): string {
  const name = text.toLowerCase();
  if (HEADER_NAME.test(name) && !TAKEN_HEADERS.has(name)) return name;
  return refuse(`Expected a header name for the API key, got ${JSON.stringify(text.slice(0, 100))}.`);
}

interface RequestTerms {
  readonly base: URL;
  readonly keyHeader: string;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly userAgent: string;
}

/** @throws `ERR_CONFIG_INVALID`, without the key in the message, also when the key would travel unencrypted over a network. */
function keyHeaderOf({ base, keyHeader }: RequestTerms, { credential }: Call): Record<string, string> {
  if (credential === null) return {};
  if (base.protocol !== 'https:' && !isLoopback(base))
    refuse(
      `The API key is not sent over plain http to ${base.host}.`,
      'Use an https address. Plain http is for this machine only.',
    );
  const key = credential.reveal();
  if (HEADER_VALUE.test(key)) return { [keyHeader]: key };
  return refuse('The API key must be visible ASCII characters without spaces or line breaks.');
}

/** @throws `ERR_BATCH_NOT_FOUND` for text that is not a UUID, so that no other text becomes part of a path. */
function filledPath(operation: Operation, values: Readonly<Record<string, unknown>>): string {
  return pathParameters(operation).reduce((path, name) => {
    const id = String(values[name]);
    if (isUuid(id)) return path.replace(`{${name}}`, id);
    throw new FlywheelError('ERR_BATCH_NOT_FOUND', `No batch ${id.slice(0, 64)}.`);
  }, operation.path);
}

function placed({ base }: RequestTerms, operation: Operation, input: unknown) {
  const fields = { ...(input as Readonly<Record<string, unknown>> | null) };
  const inPath = pathParameters(operation);
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !inPath.includes(name)));
  const url = new URL(base);
  url.pathname = base.pathname.replace(/\/+$/, '') + filledPath(operation, fields);
  // The service, not the client, refuses a missing input.
  if (operation.method === 'POST') return { url, body: jsonText(inPath.length === 0 ? input : rest) };
  for (const [name, value] of Object.entries(rest))
    if (value !== undefined) url.searchParams.set(name, String(value));
  return { url };
}

/** Checks everything before the first byte is sent. @param input - unchecked. */
export function prepareCall(
  terms: RequestTerms,
  operation: Operation,
  call: Call,
  input: unknown,
): Omit<PreparedCall, 'look' | 'onWaiting'> {
  const { url, body } = placed(terms, operation, input);
  const idempotencyKey =
    operation.idempotencyKey === 'none'
      ? undefined
      : checkIdempotencyKey(call.idempotencyKey ?? terms.ids.uuid(), operation.idempotencyKey);
  const isOwn = call.requestId !== undefined && REQUEST_ID.test(call.requestId);
  const headers = {
    accept: 'application/json',
    // A compressed body could expand to any size.
    'accept-encoding': 'identity',
    'user-agent': terms.userAgent,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { [IDEMPOTENCY_KEY_HEADER]: idempotencyKey }),
    // The id is known before the answer, so a call whose answer is lost can be found in the logs of the service.
    [REQUEST_ID_HEADER]: isOwn ? String(call.requestId) : OWN_REQUEST_ID + terms.ids.uuid(),
    ...keyHeaderOf(terms, call),
  };
  return {
    operation,
    idempotencyKey,
    signal: call.signal,
    mask: createMask(call.credential?.reveal()),
    request: { method: operation.method, url, headers, ...(body === undefined ? {} : { body }) },
  };
}
