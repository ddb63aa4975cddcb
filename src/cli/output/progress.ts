/** One line on stderr that is written over until the work is done; only on a terminal. */
import type { OutputStream } from '../context.js';
import { safeLine } from './safe-text.js';

export interface Progress {
  /** Shows this instead of what was shown. */
  show(text: string): void;
  /** Takes the line away. */
  clear(): void;
}

const ERASE_LINE = '\r\u001b[K';

/** A progress line on a stream; one that shows nothing where it would not be erased again. */
export function createProgress(stream: OutputStream, wanted: boolean): Progress {
  if (!wanted || !stream.isTTY) return { show: () => undefined, clear: () => undefined };
  let shown = false;
  return {
    show(text) {
      shown = true;
      stream.write(`${ERASE_LINE}${safeLine(text).slice(0, Math.max(0, stream.columns - 1))}`);
    },
    clear() {
      if (!shown) return;
      shown = false;
      stream.write(ERASE_LINE);
    },
  };
}
