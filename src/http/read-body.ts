/** Body bytes → JSON value: media type, encoding, duplicate keys, depth and inexact amounts are judged here, shapes are not. */
import type { IncomingHttpHeaders } from 'node:http';
import type { OperationId } from '../contract/operations.js';
import { listProblems, pathText } from '../contract/validate.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { JsonValue } from '../values/canonical-json.js';
import { decodeUtf8, type InexactNumber, parseStrictJson } from '../values/strict-json.js';

/** JSON has no charset parameter (RFC 8259, section 11); UTF-8 is what those mean who send one. */
const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?;?$/i;

/** @throws `ERR_UNSUPPORTED_MEDIA_TYPE` unless the body is plain JSON in UTF-8. */
export function checkMediaType(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type === undefined || !JSON_MEDIA_TYPE.test(type)) {
    throw new FlywheelError(
      'ERR_UNSUPPORTED_MEDIA_TYPE',
      `Expected content-type application/json, got ${type === undefined ? 'none' : JSON.stringify(type.slice(0, 100))}.`,
    );
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new FlywheelError('ERR_UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed.');
  }
}

/** Where the amounts of each operation's request are. */
const AMOUNT_PATHS: Readonly<Partial<Record<OperationId, RegExp>>> = {
  burn: /^burnAmount$/,
  burnBatch: /^\[\d+\]\.burnAmount$/,
  initBatch: /^pipelines\[\d+\]\.actions\[\d+\]\.amount$/,
};

function refuseInexactAmounts(operation: OperationId, inexact: readonly InexactNumber[]): void {
  const amounts = AMOUNT_PATHS[operation];
  if (amounts === undefined || inexact.length === 0) return;
  const problems = inexact
    .map(({ path, text }) => ({ path: pathText(path), text: text.slice(0, 40) }))
    .filter(({ path }) => amounts.test(path))
    .map(({ path, text }) => `${path}: ${text} is not kept exactly by a JSON number`);
  if (problems.length === 0) return;
  throw new FlywheelError('ERR_INVALID_REQUEST', `The request is not valid: ${listProblems(problems)}.`);
}

/**
 * The JSON value of a request body.
 * @throws `ERR_INVALID_REQUEST` saying where the text stops being JSON, or which amounts it cannot carry.
 */
export function readJsonBody(operation: OperationId, bytes: Uint8Array): JsonValue {
  const { value, inexactNumbers } = parseStrictJson(decodeUtf8(bytes));
  refuseInexactAmounts(operation, inexactNumbers);
  return value;
}
