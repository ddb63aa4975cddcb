/** Body bytes → JSON value. Media type, size, UTF-8, duplicate keys, depth and count are checked here, shapes are not. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { MAX_JSON_OBJECTS, MAX_JSON_VALUES, MAX_OBJECT_KEYS } from '../contract/limits.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { JsonValue } from '../values/canonical-json.js';
import { tooMany } from '../values/json-reader.js';
import { decodeUtf8, parseStrictJson } from '../values/strict-json.js';

/** JSON has no charset parameter (RFC 8259, section 11); UTF-8 is what those mean who send one. */
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?;?$/i;

export const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

/** @throws `ERR_UNSUPPORTED_MEDIA_TYPE` unless the body is plain JSON in UTF-8. */
export function checkMediaType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  const refuse = (message: string): never => {
    throw new FlywheelError('ERR_UNSUPPORTED_MEDIA_TYPE', message);
  };
  if (type === undefined || !JSON_MEDIA_TYPE.test(type))
    refuse(
      `Expected content-type application/json, got ${type === undefined ? 'none' : JSON.stringify(type.slice(0, 100))}.`,
    );
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    refuse('The body must not be compressed.');
}

/**
 * All bytes of a body. `read` joins the chunks that have arrived: the framework's own reader keeps a Buffer for each, and 4 MiB
 * in chunks of one byte would take hundreds of MiB.
 * @throws `ERR_PAYLOAD_TOO_LARGE`, at once when content-length says so; `ERR_INVALID_REQUEST` when it is cut off.
 */
export function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onReadable = (): void => {
      for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) {
        size += chunk.length;
        if (size > maxBytes) return tooLarge();
        chunks.push(chunk);
      }
    };
    const tooLarge = (): void => {
      request.off('readable', onReadable);
      reject(new FlywheelError('ERR_PAYLOAD_TOO_LARGE', `The body is larger than ${maxBytes} bytes.`));
    };
    const cutOff = (cause?: unknown): void =>
      reject(
        isFlywheelError(cause)
          ? cause
          : new FlywheelError('ERR_INVALID_REQUEST', 'The body was cut off.', { cause }),
      );
    request.once('error', cutOff).once('close', cutOff);
    request.once('end', () => resolve(Buffer.concat(chunks, size)));
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) tooLarge();
    else request.on('readable', onReadable);
  });
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/**
 * Counts commas and opening brackets outside of strings: JSON text has at most one value more. What is too much is refused
 * before anything of it is parsed; whether it is JSON at all is not decided here.
 */
function checkCount(bytes: Buffer): void {
  let [marks, objects, at] = [0, 0, 0];
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
    } else if (byte === COMMA || byte === BRACKET) marks += 1;
    else if (byte === BRACE) {
      marks += 1;
      objects += 1;
    }
  }
  if (objects > MAX_JSON_OBJECTS) throw tooMany(MAX_JSON_OBJECTS, 'objects');
  if (marks >= MAX_JSON_VALUES) throw tooMany(MAX_JSON_VALUES, 'values');
}

/**
 * The JSON value of a body; numbers that a double cannot carry stay as they were written.
 * @throws `ERR_INVALID_REQUEST` saying where the text stops being JSON; `ERR_PAYLOAD_TOO_LARGE` for too many values or keys.
 */
export function parseBody(bytes: Buffer): JsonValue {
  checkCount(bytes);
  return parseStrictJson(decodeUtf8(bytes), { maxKeys: MAX_OBJECT_KEYS }).value;
}
