/** A file of elements, or standard input, as text in pieces: how it is written is known before it is read. */
import { closeSync, openSync, readSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/read-file.js';
import { Utf8Decoder } from '../../values/strict-json.js';
import type { CliContext } from '../context.js';
import type { Columns, InputFormat } from '../options/input-format.js';
import { inInput, inputError, inputName, MAX_INPUT_BYTES, type NamedText } from './read-input.js';

/** How an input is said to be written. */
export interface InputTerms {
  readonly format?: InputFormat;
  readonly column?: Columns;
}

/** An input that can be read once. */
export interface Input {
  readonly name: string;
  readonly format: InputFormat;
  readonly columns: Columns;
  /** UTF-8 without a byte order mark. @throws `ERR_INPUT_INVALID` */
  pieces(): AsyncIterable<string>;
}

type ReadContext = Pick<CliContext, 'io' | 'cwd' | 'signal'>;

const TABLES: ReadonlySet<string> = new Set(['.csv', '.tsv']);
const PIECE_BYTES = 256 * 1_024;

/**
 * Opens an input of elements.
 * @throws `ERR_INPUT_INVALID` naming the file and the reason, also for one that is empty.
 */
export async function openInput(context: ReadContext, file: string, terms: InputTerms = {}): Promise<Input> {
  const name = inputName(file);
  const text = textOf(name, bytesOf(context, file))[Symbol.asyncIterator]();
  const begun: string[] = [];
  let first = '';
  while (first === '') {
    const next = await text.next();
    if (next.done === true) throw inputError(name, 'It is empty');
    begun.push(next.value);
    first = next.value.trimStart().charAt(0);
  }
  const format = terms.format ?? formatOf(file, first);
  if (terms.format === undefined && format === 'ndjson' && !/[[{"]/.test(first))
    throw new FlywheelError('ERR_INPUT_INVALID', `${name}: expected JSON or NDJSON (line 1, column 1).`, {
      problems: {
        file: name,
        count: 1,
        listed: [{ line: 1, column: 1, message: 'expected JSON or NDJSON' }],
      },
      hint: 'If it is CSV, add --format csv.',
    });
  const columns = terms.column ?? new Map<string, string>();
  if (format !== 'csv' && columns.size > 0)
    throw new FlywheelError('ERR_USAGE', `--column is for CSV, and ${name} is read as ${format}.`, {
      hint: 'Add --format csv.',
    });
  return {
    name,
    format,
    columns,
    pieces: async function* () {
      yield* begun;
      for (let next = await text.next(); next.done !== true; next = await text.next()) yield next.value;
    },
  };
}

const isTable = (file: string): boolean => TABLES.has(extname(file).toLowerCase());

const formatOf = (file: string, firstCharacter: string): InputFormat =>
  isTable(file) ? 'csv' : firstCharacter === '[' ? 'json' : 'ndjson';

/** Text that was read already. */
export const textInput = ({ name, text }: NamedText): Input => ({
  name,
  format: formatOf(name, text.trimStart().charAt(0)),
  columns: new Map(),
  pieces: async function* () {
    yield text;
  },
});

/** The whole text of an input. @throws `ERR_INPUT_INVALID` */
export async function wholeText({ name, pieces }: Input): Promise<string> {
  const parts: string[] = [];
  let length = 0;
  for await (const piece of pieces()) {
    length += piece.length;
    if (length > MAX_INPUT_BYTES)
      throw new FlywheelError('ERR_INPUT_INVALID', `${name}: it holds more than ${MAX_INPUT_BYTES} bytes.`, {
        hint: 'Write it as NDJSON or CSV, which is read piece by piece.',
      });
    parts.push(piece);
  }
  return parts.join('');
}

async function* textOf(name: string, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new Utf8Decoder();
  for await (const chunk of bytes) {
    const piece = inInput(name, () => decoder.decode(chunk));
    if (piece !== '') yield piece;
  }
  inInput(name, () => decoder.end());
}

async function* bytesOf({ io, cwd, signal }: ReadContext, file: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of file === '-' ? io.stdin.chunks() : bytesOfFile(resolve(cwd, file))) {
      yield bytes;
      // Reading a file and checking it waits for nothing, and without a turn no signal is heard.
      await setImmediate();
      if (signal.aborted) throw interrupted();
    }
  } catch (error) {
    if (isFlywheelError(error)) throw error;
    if (signal.aborted) throw interrupted();
    throw inputError(inputName(file), fileProblem(error), error);
  }
}

const interrupted = (): FlywheelError =>
  new FlywheelError('ERR_INTERRUPTED', 'Interrupted while reading; nothing was sent.');

/** All pieces share one buffer: each is decoded before the next is read. */
function* bytesOfFile(path: string): Generator<Uint8Array> {
  const handle = openSync(path, 'r');
  try {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (;;) {
      const size = readSync(handle, piece, 0, PIECE_BYTES, null);
      if (size === 0) return;
      yield piece.subarray(0, size);
    }
  } finally {
    closeSync(handle);
  }
}
