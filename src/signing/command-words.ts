/** The words of a command that the user names in one text: split here, by no shell, so that nothing in it is expanded or run. */
import { FlywheelError } from '../errors/flywheel-error.js';

/** What a shell would act on, and this does not: refused rather than handed on as it stands. */
const SHELL_CHARACTERS = '|&;<>()$`*?~#!{}[]\n';

/** Reads a text one character at a time. */
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
 * Words apart by spaces and tabs; what is between two `'` or two `"` is taken as it stands, also a backslash.
 * @param name - of the setting, for what is said about it; the command itself is not repeated.
 * @throws `ERR_CONFIG_INVALID`
 */
export function commandWords(command: string, name: string): readonly [string, ...string[]] {
  const words = new Words();
  for (const character of command) words.take(character, name);
  const [program, ...rest] = words.all(name);
  if (program === undefined || program === '') throw refuse(name, 'it is empty');
  return [program, ...rest];
}
