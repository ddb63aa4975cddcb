/** ora on a stream of ours. It gets no hand on signals, standard input and the cursor: those stay with the command. */
import { clearLine, cursorTo, moveCursor } from 'node:readline';
import { Writable } from 'node:stream';
import ora from 'ora';
import type { OutputStream } from '../context.js';

export interface Spinner {
  /** Spins beside a text, looked at each time that it is drawn and cut to one line. @param look - the text for so many columns */
  start(look: (columns: number) => string): void;
  /** Stops, and takes the line away. */
  clear(): void;
}

/** Columns of the spinner itself, and the last one, which would break the line. */
const OWN_COLUMNS = 3;

/** What ora asks of a terminal. */
class Terminal extends Writable {
  readonly isTTY = true;
  readonly #stream: OutputStream;

  constructor(stream: OutputStream) {
    super({ decodeStrings: false });
    this.#stream = stream;
  }

  get columns(): number {
    return this.#stream.columns;
  }

  override _write(text: string | Uint8Array, _encoding: string, written: () => void): void {
    this.#stream.write(String(text));
    written();
  }

  cursorTo = (x: number): boolean => cursorTo(this, x);
  moveCursor = (x: number, y: number): boolean => moveCursor(this, x, y);
  clearLine = (direction: -1 | 0 | 1): boolean => clearLine(this, direction);
}

/** A spinner on a stream that is a terminal. */
export function createSpinner(stream: OutputStream): Spinner {
  const spinner = ora({
    stream: new Terminal(stream),
    isEnabled: true,
    color: false,
    // It would read, and throw away, what is typed while it spins, an interruption with it.
    discardStdin: false,
    // It would listen for signals to show the cursor again, and end the process at the first one, in the middle of a request.
    hideCursor: false,
  });
  // Its own timer would keep a process alive that has nothing left to do.
  let timer: NodeJS.Timeout | undefined;
  return {
    start: (look) => {
      if (timer !== undefined) return;
      const draw = (): void => {
        const columns = Math.max(0, stream.columns - OWN_COLUMNS);
        spinner.text = look(columns).slice(0, columns);
        spinner.render();
      };
      draw();
      timer = setInterval(draw, spinner.interval).unref();
    },
    clear: () => {
      clearInterval(timer);
      timer = undefined;
      spinner.stop();
    },
  };
}
