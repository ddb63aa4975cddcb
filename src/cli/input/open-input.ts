/** A file of elements, or standard input, and how it is written. */
import { closeSync, openSync, readSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/read-file.js';
import { decodeUtf8 } from '../../values/strict-json.js';
import type { CliContext } from '../context.js';
import type { Columns, InputFormat } from '../options/input-format.js';
import { inInput, inputError, inputName, MAX_INPUT_BYTES, type NamedText } from './read-input.js';

/** How an input is said to be written. */
interface InputTerms {
  readonly format?: InputFormat;
  readonly column?: Columns;
}

/** The text of an input, not empty. */
export interface Input extends NamedText {
  readonly format: InputFormat;
  readonly columns: Columns;
}

type ReadContext = Pick<CliContext, 'io' | 'cwd' | 'signal'>;

const PIECE_BYTES = 256 * 1_024;

const TABLES: ReadonlySet<string> = new Set(['.csv', '.tsv']);

/**
 * Reads an input of elements.
 * @throws `ERR_INPUT_INVALID` naming the file and the reason, also for one that is empty.
 */
export async function openInput(context: ReadContext, file: string, terms: InputTerms = {}): Promise<Input> {
  const name = inputName(file);
  const bytes = await bytesOf(context, file);
  const text = inInput(name, () => decodeUtf8(bytes));
  const first = text.trimStart().charAt(0);
  if (first === '') throw inputError(name, 'It is empty');
  const format = terms.format ?? formatOf(file, first);
  if (terms.format === undefined && format === 'ndjson' && !/[[{"]/.test(first))
    throw new FlywheelError('ERR_INPUT_INVALID', `${name}: expected JSON or NDJSON.`, {
      problems: { file: name, count: 1, listed: [{ line: 1, message: 'expected JSON or NDJSON' }] },
      hint: 'If it is CSV, add --format csv.',
    });
  const columns = terms.column ?? new Map<string, string>();
  if (format !== 'csv' && columns.size > 0)
    throw new FlywheelError('ERR_USAGE', `--column is for CSV, but ${name} is read as ${format}.`, {
      hint: 'Add --format csv.',
    });
  return { name, text, format, columns };
}

/** All of a file or of standard input, which may never end; an interrupt ends the reading. */
async function bytesOf({ io, cwd, signal }: ReadContext, file: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of file === '-' ? io.stdin.chunks() : piecesOfFile(resolve(cwd, file))) {
      pieces.push(piece);
      length += piece.length;
      if (length > MAX_INPUT_BYTES)
        throw inputError(inputName(file), `it is larger than ${MAX_INPUT_BYTES} bytes`);
      // Reading a file waits for nothing, and without a turn no signal is heard.
      await setImmediate();
      if (signal.aborted) throw interrupted();
    }
  } catch (error) {
    if (isFlywheelError(error)) throw error;
    if (signal.aborted) throw interrupted();
    throw inputError(inputName(file), fileProblem(error), error);
  }
  return Buffer.concat(pieces);
}

const interrupted = (): FlywheelError =>
  new FlywheelError('ERR_INTERRUPTED', 'Interrupted while reading. Nothing was sent.');

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

const formatOf = (file: string, firstCharacter: string): InputFormat =>
  TABLES.has(extname(file).toLowerCase()) ? 'csv' : firstCharacter === '[' ? 'json' : 'ndjson';

/** Text that was read already. */
export const textInput = ({ name, text }: NamedText): Input => ({
  ...{ name, text, columns: new Map<string, string>() },
  format: formatOf(name, text.trimStart().charAt(0)),
});
