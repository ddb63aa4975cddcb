/** A JSON string literal that is read in pieces, because it is long or has escapes. */

/** `done`: to its closing quote. `cut`: the text ends first. `bad`: an escape or a character that JSON does not allow. */
type LongStringState = 'more' | 'done' | 'cut' | 'bad';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** Characters below this must be escaped. */
const FIRST_PRINTABLE = 0x20;
/** Lengths of `\n` and of `\u00e9`. */
const SHORT_ESCAPE = 2;
const UNICODE_ESCAPE = 6;

/** The string of a literal in its quotes; `undefined` when JSON does not allow it. */
export function readEscapes(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}

/** Reads one literal; {@link LongString.read} until it says anything but `more`. */
export class LongString {
  /** Where its opening quote is. */
  readonly start: number;
  readonly #text: string;
  #value = '';
  /** From where on the text is not part of the value yet. */
  #from: number;
  #at: number;
  /** Where the last escape ends; nothing may be cut apart before it. */
  #escapeEnd = 0;
  /** Is there an escape or a control character in what is not part of the value yet? */
  #needsJudging = false;

  constructor(text: string, start: number) {
    this.#text = text;
    this.start = start;
    this.#from = start + 1;
    this.#at = this.#from;
  }

  /** How far it is read. */
  get at(): number {
    return this.#at;
  }

  /** The string, once it is read to its closing quote. */
  get value(): string {
    return this.#value;
  }

  /** Reads on up to about `stopAt`, which is beyond {@link at}. */
  read(stopAt: number): LongStringState {
    const text = this.#text;
    const pauseAt = Math.min(stopAt, text.length);
    let at = this.#at;
    while (at < text.length) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) return this.#end(at);
      if (code === BACKSLASH) at = this.#escape(at);
      else {
        if (code < FIRST_PRINTABLE) this.#beginJudging(at);
        at += 1;
      }
      if (at >= pauseAt && at >= this.#escapeEnd) return this.#pause(at);
    }
    return 'cut';
  }

  #escape(at: number): number {
    this.#beginJudging(at);
    const isUnicode = this.#text.charCodeAt(at + 1) === LETTER_U;
    this.#escapeEnd = at + (isUnicode ? UNICODE_ESCAPE : SHORT_ESCAPE);
    return at + SHORT_ESCAPE;
  }

  #end(at: number): LongStringState {
    this.#at = at + 1;
    return this.#cut(at) ? 'done' : 'bad';
  }

  /** What has nothing to judge stays open: taken in one piece it shares the memory of the text. */
  #pause(at: number): LongStringState {
    if (at >= this.#text.length) return 'cut';
    if (this.#needsJudging && !this.#cut(at)) return 'bad';
    this.#at = at;
    return 'more';
  }

  /** JSON.parse is to judge from here on, and not what is before. */
  #beginJudging(at: number): void {
    if (this.#needsJudging) return;
    this.#cut(at);
    this.#needsJudging = true;
  }

  /** Adds what has been read to the value; false when JSON does not allow it. */
  #cut(at: number): boolean {
    const raw = this.#text.slice(this.#from, at);
    const piece = this.#needsJudging ? readEscapes(`"${raw}"`) : raw;
    if (piece === undefined) return false;
    this.#value = this.#value === '' ? piece : this.#value + piece;
    this.#needsJudging = false;
    this.#from = at;
    return true;
  }
}
