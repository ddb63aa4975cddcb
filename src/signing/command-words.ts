/** Splits a signing command into words without a shell, so that nothing in the text is expanded or executed. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** Characters with a meaning for shells; unquoted, they are refused instead of being passed on literally. */
const SHELL_CHARACTERS = '|&;<>()$`*?~#!{}[]\n';

/** Spaces between words, text in quotes, one plain character, or a quote that is not closed. */
const PARTS = /[ \t]+|"([^"]*)"|'([^']*)'|([^"'])|(["'])/g;

const refuse = (name: string, reason: string): FlywheelError =>
  new FlywheelError('ERR_CONFIG_INVALID', `${name} is not a valid command: ${reason}.`, {
    hint: 'Give a program with its arguments. Quote arguments with spaces. For anything else, write a script.',
  });

/**
 * Splits at spaces and tabs. Text between two `'` or two `"` is literal, backslashes included.
 * @param name - of the setting, for errors; the command itself is not quoted in errors.
 * @throws `ERR_CONFIG_INVALID`
 */
export function commandWords(command: string, name: string): readonly [string, ...string[]] {
  const words: string[] = [];
  let isInWord = false;
  for (const [part, double, single, plain, open] of command.matchAll(PARTS)) {
    if (open !== undefined) throw refuse(name, `the quote ${open} is not closed`);
    if (plain !== undefined && SHELL_CHARACTERS.includes(plain))
      throw refuse(name, `${JSON.stringify(part)} must be quoted, because no shell reads the command`);
    const text = double ?? single ?? plain;
    if (text !== undefined) words.push(`${isInWord ? words.pop() : ''}${text}`);
    isInWord = text !== undefined;
  }
  const [program, ...rest] = words;
  if (program === undefined || program === '') throw refuse(name, 'it is empty');
  return [program, ...rest];
}
