/** Body bytes → JSON value. Checks media type, size, UTF-8, duplicate keys, depth and count; schemas are checked later. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { MAX_JSON_OBJECTS, MAX_JSON_VALUES, MAX_OBJECT_KEYS } from '../contract/limits.js';
import { invalidRequest } from '../contract/validate.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { JsonValue } from '../values/canonical-json.js';
import { decodeUtf8, measureJson, parseStrictJson, tooMany } from '../values/strict-json.js';

/** JSON has no charset parameter (RFC 8259, section 11), but some clients send `charset=utf-8`. */
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?;?$/i;

export const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

/** @throws `ERR_UNSUPPORTED_MEDIA_TYPE` unless the body is plain JSON in UTF-8. */
export function checkMediaType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  const named = type === undefined ? 'none' : JSON.stringify(type.slice(0, 100));
  const isPlain = (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity';
  if (type !== undefined && JSON_MEDIA_TYPE.test(type) && isPlain) return;
  const message = isPlain
    ? `Expected content-type application/json, got ${named}.`
    : 'The body must not be compressed.';
  throw new FlywheelError('ERR_UNSUPPORTED_MEDIA_TYPE', message);
}

/**
 * Reads the body into one growing buffer: Fastify's reader keeps each chunk, and 4 MiB in chunks of one byte took 800 MiB.
 * @throws `ERR_PAYLOAD_TOO_LARGE`, at once when content-length is too large; `ERR_INVALID_REQUEST` when the body is cut off.
 */
export function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () =>
    new FlywheelError('ERR_PAYLOAD_TOO_LARGE', `The body is larger than ${maxBytes} bytes.`);
  return new Promise((resolve, reject) => {
    let [bytes, size] = [Buffer.alloc(0), 0];
    const onData = (chunk: Buffer): void => {
      const whole = size + chunk.length;
      if (whole > maxBytes) fail(tooLarge());
      else {
        if (whole > bytes.length) bytes = Buffer.concat([bytes], 2 * whole);
        size += chunk.copy(bytes, size);
      }
    };
    const fail = (error: FlywheelError): void => {
      reject(error);
      request.off('data', onData).resume();
    };
    const cutOff = (cause?: unknown): void =>
      reject(isFlywheelError(cause) ? cause : invalidRequest(['the body was cut off']));
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      fail(tooLarge());
      return;
    }
    request.once('error', cutOff).once('close', cutOff).on('data', onData);
    request.once('end', () => resolve(bytes.subarray(0, size)));
  });
}

/**
 * Checks counts before parsing. Numbers that a double cannot represent keep their text.
 * @throws `ERR_INVALID_REQUEST` with the position where the text stops being JSON; `ERR_PAYLOAD_TOO_LARGE` for too many values or
 * keys.
 */
export function parseBody(bytes: Buffer): JsonValue {
  const text = decodeUtf8(bytes);
  const { values, objects } = measureJson(text);
  if (objects > MAX_JSON_OBJECTS) throw tooMany(MAX_JSON_OBJECTS, 'objects');
  if (values > MAX_JSON_VALUES) throw tooMany(MAX_JSON_VALUES, 'values');
  return parseStrictJson(text, { maxKeys: MAX_OBJECT_KEYS }).value;
}
