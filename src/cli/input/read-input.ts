/** Bytes that the user names: a file, or `-` for standard input; with sentences for everything that can be wrong with a file. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/read-file.js';
import { decodeUtf8 } from '../../values/strict-json.js';
import type { CliContext } from '../context.js';

/** Largest input file in bytes; V8 holds no longer text. */
export const MAX_INPUT_BYTES = 500 * 1_024 * 1_024;

/** Text that was read, and how messages call where it came from. */
export interface NamedText {
  readonly name: string;
  readonly text: string;
}

type ReadContext = Pick<CliContext, 'io' | 'cwd'>;

/** An input that cannot be used; nothing was sent. */
export const inputError = (name: string, reason: string, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `${name}: ${reason}.`, cause === undefined ? {} : { cause });

/**
 * The bytes of a file, or of standard input for `-`.
 * @throws `ERR_INPUT_INVALID` naming the file and the reason.
 */
export async function readInputBytes(context: ReadContext, file: string): Promise<Uint8Array> {
  if (file === '-') return context.io.stdin.read(MAX_INPUT_BYTES);
  const path = resolve(context.cwd, file);
  try {
    const { size } = statSync(path);
    if (size > MAX_INPUT_BYTES) throw inputError(file, `it is larger than ${MAX_INPUT_BYTES} bytes`);
    return readFileSync(path);
  } catch (error) {
    if (isFlywheelError(error)) throw error;
    throw inputError(file, fileProblem(error), error);
  }
}

/** How messages call an input. */
export const inputName = (file: string): string => (file === '-' ? 'standard input' : file);

/**
 * The text of an input: UTF-8, without a byte order mark, not empty.
 * @throws `ERR_INPUT_INVALID`
 */
export async function readInputText(context: ReadContext, file: string): Promise<NamedText> {
  const bytes = await readInputBytes(context, file);
  const name = inputName(file);
  return { name, text: inInput(name, () => requireText(decodeUtf8(bytes))) };
}

function requireText(text: string): string {
  if (text.trim() === '') throw new FlywheelError('ERR_INVALID_REQUEST', 'The file is empty.');
  return text;
}

/** Runs a parser and puts the name of the input before what it complains of. */
export function inInput<Value>(name: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    throw new FlywheelError('ERR_INPUT_INVALID', `${name}: ${error.message}`, { cause: error });
  }
}

/** The same of a file of elements. */
export function inFile<Value>(name: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
    throw new FlywheelError('ERR_INPUT_INVALID', `${name}: ${error.message}`, {
      problems: { file: name, count: 1, listed: [{ message: error.message.replace(/\.$/, '') }] },
      cause: error,
    });
  }
}

/**
 * The text of an option that takes a value, `@file` or `-`.
 * @throws `ERR_INPUT_INVALID`
 */
export async function readOptionText(
  context: ReadContext,
  option: string,
  value: string,
): Promise<NamedText> {
  if (value === '-') return readInputText(context, '-');
  if (value.startsWith('@')) return readInputText(context, value.slice(1));
  return { name: option, text: value };
}
