/** Reads an input of the user: a file, or `-` for standard input. */

import { closeSync, openSync, readSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { MAX_PROOF_BYTES } from '../../contract/limits.js';
import { FlywheelError, isFlywheelError, usageError } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/read-file.js';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { decodeUtf8, parseStrictJson } from '../../values/strict-json.js';
import { grouped } from '../../values/token-amount.js';
import type { CliContext } from '../context.js';
import type { Columns, InputFormat } from '../options.js';

/** Limit of V8's strings. */
const MAX_INPUT_BYTES = 500 * 1_024 * 1_024;

const PIECE_BYTES = 256 * 1_024;

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

type ReadContext = Pick<CliContext, 'io' | 'cwd' | 'signal'>;

export const inputError = (name: string, reason: string, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `${name}: ${reason}.`, { cause });

/** Standard input may be endless, so a signal stops the reading. @throws `ERR_INPUT_INVALID` with the file and the reason. */
export async function readInputBytes(
  { io, cwd, signal }: ReadContext,
  file: string,
  maxBytes = MAX_INPUT_BYTES,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of file === '-' ? io.stdin.chunks() : piecesOfFile(resolve(cwd, file))) {
      pieces.push(piece);
      length += piece.length;
      if (length > maxBytes)
        throw inputError(inputName(file), `the file is larger than ${grouped(maxBytes)} bytes`);
      // Signals arrive only when the event loop turns.
      await setImmediate();
      if (signal.aborted) break;
    }
  } catch (error) {
    if (isFlywheelError(error)) throw error;
    if (!signal.aborted) throw inputError(inputName(file), fileProblem(error), error);
  }
  if (signal.aborted)
    throw new FlywheelError('ERR_INTERRUPTED', 'Interrupted while reading. Nothing was sent.');
  return Buffer.concat(pieces);
}

function* piecesOfFile(path: string): Generator<Uint8Array> {
  const handle = openSync(path, 'r');
  try {
    for (;;) {
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      const size = readSync(handle, piece, 0, PIECE_BYTES, null);
      if (size === 0) return;
      yield piece.subarray(0, size);
    }
  } finally {
    closeSync(handle);
  }
}

export const inputName = (file: string): string => (file === '-' ? 'standard input' : file);

/** UTF-8 without a byte order mark. @throws `ERR_INPUT_INVALID`, also when it is empty. */
export async function readInputText(context: ReadContext, file: string): Promise<NamedText> {
  const bytes = await readInputBytes(context, file);
  const name = inputName(file);
  const text = inInput(name, () => decodeUtf8(bytes), false, NOT_TEXT);
  if (text.trim() === '') throw inputError(name, 'the file is empty');
  return { name, text };
}

const NOT_TEXT = 'Save the file as text in UTF-8. In a spreadsheet: "CSV UTF-8".';

/** Adds the name of the input to errors of the parser. @param isList - the error becomes the file's one problem. */
export function inInput<Value>(name: string, parse: () => Value, isList = false, hint?: string): Value {
  try {
    return parse();
  } catch (cause) {
    if (!isFlywheelError(cause, 'ERR_INVALID_REQUEST')) throw cause;
    const problems = { file: name, count: 1, listed: [{ message: cause.message.replace(/\.$/, '') }] };
    throw new FlywheelError('ERR_INPUT_INVALID', `${name}: ${cause.message}`, {
      ...(isList && { problems }),
      hint,
      cause,
    });
  }
}

/** The text of an option that takes a value, `@file` or `-`. */
export async function readOptionText(
  context: ReadContext,
  option: string,
  value: string,
): Promise<NamedText> {
  if (value === '-') return readInputText(context, '-');
  if (value.startsWith('@')) return readInputText(context, value.slice(1));
  return { name: option, text: value };
}

export interface Input extends NamedText {
  readonly format: InputFormat;
  readonly columns: Columns;
}

const TABLES: ReadonlySet<string> = new Set(['.csv', '.tsv']);

/** @throws `ERR_INPUT_INVALID`, also when it is empty. */
export async function openInput(
  context: ReadContext,
  file: string,
  { format: wanted, column }: { readonly format?: InputFormat; readonly column?: Columns } = {},
): Promise<Input> {
  const { name, text } = await readInputText(context, file);
  const first = text.trimStart().charAt(0);
  const format = wanted ?? formatOf(file, first);
  if (wanted === undefined && format === 'ndjson' && !/[[{"]/.test(first))
    throw new FlywheelError('ERR_INPUT_INVALID', `${name}: expected JSON or NDJSON.`, {
      problems: { file: name, count: 1, listed: [{ line: 1, message: 'expected JSON or NDJSON' }] },
      hint: 'If the input is CSV, add --format csv.',
    });
  const columns = column ?? new Map<string, string>();
  if (format !== 'csv' && columns.size > 0)
    throw usageError(`--column is for CSV, but ${name} is read as ${format}.`, 'Add --format csv.');
  return { name, text, format, columns };
}

const formatOf = (file: string, firstCharacter: string): InputFormat =>
  TABLES.has(extname(file).toLowerCase()) ? 'csv' : firstCharacter === '[' ? 'json' : 'ndjson';

export const textInput = ({ name, text }: NamedText): Input => ({
  ...{ name, text, columns: new Map<string, string>() },
  format: formatOf(name, text.trimStart().charAt(0)),
});

const isObject = (value: unknown, key: string): boolean => isJsonObject(value) && Object.hasOwn(value, key);

const KINDS = {
  'a keypair file': {
    is: (value) => Array.isArray(value) && value.length === 64 && value.every(Number.isInteger),
    hint: 'Name the keypair file with --keypair.',
  },
  'a burns file': {
    is: (value) => Array.isArray(value) && isObject(value[0], 'burnAmount'),
    hint: 'Send a burns file with `flywheel burn-batch`.',
  },
  'a pipelines file': {
    is: (value) => isObject(value, 'pipelines') || (Array.isArray(value) && isObject(value[0], 'actions')),
    hint: 'Send a pipelines file with `flywheel batch run`.',
  },
  'an approval file': {
    is: (value) => isObject(value, 'proposalApproveTx'),
    hint: 'Sign an approval file with `flywheel batch approve`.',
  },
  'a signed approval': {
    is: (value) => isObject(value, 'signedTx'),
    hint: 'Send a signed approval with the option --signed-tx of `flywheel batch execute`.',
  },
} satisfies Readonly<Record<string, { is(value: JsonValue): boolean; readonly hint: string }>>;

export const isKind = (kind: keyof typeof KINDS, value: JsonValue): boolean => KINDS[kind].is(value);

/** `undefined` for text that is not JSON as a whole, such as NDJSON. */
export function wholeJson(text: string): JsonValue | undefined {
  try {
    return parseStrictJson(text).value;
  } catch {
    return undefined;
  }
}

export function requireKind(name: string, value: JsonValue, wanted: keyof typeof KINDS): void {
  for (const [kind, { is, hint }] of Object.entries(KINDS))
    if (kind !== wanted && is(value))
      throw inputError(name, `expected ${wanted}, but this is ${kind}`).with({ hint });
}

/** Without a full stop; `undefined`: no problem. */
export function proofProblem(proof: JsonValue | undefined): string | undefined {
  if (!isJsonObject(proof)) return 'expected a JSON object';
  const size = Buffer.byteLength(canonicalJson(proof));
  return size > MAX_PROOF_BYTES
    ? `the proof has ${grouped(size)} bytes; at most ${grouped(MAX_PROOF_BYTES)} are allowed`
    : undefined;
}

/** @throws `ERR_INPUT_INVALID` with the source. */
export function readProof({ name, text }: NamedText): JsonObject {
  return inInput(name, () => {
    const { value } = parseStrictJson(text);
    const problem = proofProblem(value);
    if (problem !== undefined || !isJsonObject(value))
      throw inputError(name, problem ?? 'expected a JSON object');
    return value;
  });
}
