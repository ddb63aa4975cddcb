/** Splits a signing command into words without a shell, so that nothing in the text is expanded or executed. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** Characters with a meaning for shells; unquoted, they are refused instead of being passed on literally. */
const SHELL_CHARACTERS = '|&;<>()$`*?~#!{}[]\n';

class Words {
  readonly #words: string[] = [];
  #word: string | undefined;
  #quote: string | undefined;

  take(character: string, name: string): void {
    if (this.#quote !== undefined) {
      if (character === this.#quote) this.#quote = undefined;
      else this.#word += character;
    } else if (character === '"' || character === "'") {
      this.#quote = character;
      this.#word ??= '';
    } else if (character === ' ' || character === '\t') {
      this.#end();
    } else if (SHELL_CHARACTERS.includes(character)) {
      throw refuse(name, `${JSON.stringify(character)} must be quoted, because no shell reads the command`);
    } else {
      this.#word = `${this.#word ?? ''}${character}`;
    }
  }

  all(name: string): readonly string[] {
    if (this.#quote !== undefined) throw refuse(name, `the quote ${this.#quote} is not closed`);
    this.#end();
    return this.#words;
  }

  #end(): void {
    if (this.#word !== undefined) this.#words.push(this.#word);
    this.#word = undefined;
  }
}

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
  const words = new Words();
  for (const character of command) words.take(character, name);
  const [program, ...rest] = words.all(name);
  if (program === undefined || program === '') throw refuse(name, 'it is empty');
  return [program, ...rest];
}
