/** Where a command may write what comes of the file that it reads: not over that file. */
import { realpathSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { inputError, inputName } from './read-input.js';

/** The path without links; what is not there leads nowhere. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * @param out - as the option names it.
 * @param input - the file that is read, or `-`.
 * @returns the absolute path, `null` where none was named.
 * @throws `ERR_INPUT_INVALID` where writing it would replace the input.
 */
export function outputBeside(cwd: string, out: string | undefined, input: string): string | null {
  if (out === undefined) return null;
  const path = resolve(cwd, out);
  if (input !== '-' && realPath(path) === realPath(resolve(cwd, input)))
    throw inputError(inputName(out), 'it is the file that is read; name another to write to');
  return path;
}

/**
 * The same for elements that failed, which are written as JSON.
 * @throws `ERR_INPUT_INVALID` also for a name by which they would be read as a table.
 */
export function failedOutBeside(cwd: string, out: string | undefined, input: string): string | null {
  if (out !== undefined && /^\.[ct]sv$/i.test(extname(out)))
    throw inputError(out, 'what failed is written as JSON, and would be read as a table by that name');
  return outputBeside(cwd, out, input);
}
