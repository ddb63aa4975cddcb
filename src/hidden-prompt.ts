/** Asks for a secret on a terminal that shows nothing of it; the bytes are kept in one place and never become text. */
import type { ReadStream, WriteStream } from 'node:tty';

/** What is typed to edit a line; in raw mode nobody else looks after it. */
const KEY = {
  interrupt: 0x03,
  end: 0x04,
  backspace: 0x08,
  newline: 0x0a,
  enter: 0x0d,
  clear: 0x15,
  erase: 0x7f,
};
const SPACE = 0x20;
/** The bytes of a character beyond ASCII after its first. */
const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** Why it ended: with a line, without one, by Ctrl-C, or by more than fits. */
export type HiddenAnswer = Uint8Array | 'ended' | 'interrupted' | 'too long';

/** A line that is being typed. */
class HiddenLine {
  readonly #bytes: Buffer;
  #length = 0;

  constructor(maxBytes: number) {
    this.#bytes = Buffer.alloc(maxBytes);
  }

  /** Takes what was typed; says how the line ended, once it has. */
  take(typed: Uint8Array): HiddenAnswer | undefined {
    for (const byte of typed) {
      if (byte === KEY.enter || byte === KEY.newline) return this.#finish();
      if (byte === KEY.interrupt) return this.discard('interrupted');
      if (byte === KEY.end && this.#length === 0) return this.discard('ended');
      if (!this.#edit(byte)) return this.discard('too long');
    }
    return undefined;
  }

  /** @returns whether there was room. */
  #edit(byte: number): boolean {
    if (byte === KEY.erase || byte === KEY.backspace) this.#erase();
    else if (byte === KEY.clear) this.#length = 0;
    if (byte < SPACE || byte === KEY.erase) return true;
    if (this.#length === this.#bytes.length) return false;
    this.#bytes[this.#length++] = byte;
    return true;
  }

  discard<Reason extends HiddenAnswer>(reason: Reason): Reason {
    this.#bytes.fill(0);
    return reason;
  }

  #erase(): void {
    while (this.#length > 0 && isContinuation(this.#bytes[this.#length - 1] ?? 0)) this.#length -= 1;
    this.#length = Math.max(0, this.#length - 1);
  }

  #finish(): Uint8Array {
    const answer = Uint8Array.from(this.#bytes.subarray(0, this.#length));
    this.#bytes.fill(0);
    return answer;
  }
}

/**
 * Asks and reads one line; the terminal is as it was afterwards, however it ends.
 * @param signal - ends the question as if nothing had been typed.
 */
export function promptHidden(
  input: ReadStream,
  output: WriteStream,
  {
    question,
    maxBytes,
    signal,
  }: { readonly question: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<HiddenAnswer> {
  const line = new HiddenLine(maxBytes);
  return new Promise((resolve) => {
    const end = (answer: HiddenAnswer): void => {
      input.off('data', onData).off('end', onEnd);
      signal.removeEventListener('abort', onEnd);
      input.setRawMode(false);
      input.pause();
      output.write('\n');
      resolve(answer);
    };
    const onEnd = (): void => end(line.discard('ended'));
    const onData = (typed: Buffer): void => {
      const answer = line.take(typed);
      typed.fill(0);
      if (answer !== undefined) end(answer);
    };
    // Before the question is shown, so that nothing of the answer is.
    input.setRawMode(true);
    input.on('data', onData).once('end', onEnd);
    signal.addEventListener('abort', onEnd, { once: true });
    output.write(question);
    input.resume();
  });
}
