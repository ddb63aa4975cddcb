/** What a command is busy with, beside a spinner on stderr; only on a terminal, and gone when the work is done. */
import type { OutputStream } from '../context.js';
import { safeLine } from './safe-text.js';
import type { Spinner } from './spinner.js';

export interface Progress {
  /** Shows this instead of what was shown. */
  show(text: string): void;
  /** Takes the line away. */
  clear(): void;
}

/** Progress on a stream; one that shows nothing where it could not be taken away again. */
export function createProgress(stream: OutputStream, wanted: boolean): Progress {
  if (!wanted || !stream.isTTY) return { show: () => undefined, clear: () => undefined };
  let shown: string | undefined;
  let spinner: Spinner | undefined;
  let isLoading = false;
  const load = async (): Promise<void> => {
    isLoading = true;
    const { createSpinner } = await import('./spinner.js');
    spinner = createSpinner(stream);
    // Meanwhile it may have been replaced, or the work may be over.
    if (shown !== undefined) spinner.show(shown);
  };
  return {
    show(text) {
      shown = safeLine(text);
      if (spinner !== undefined) spinner.show(shown);
      else if (!isLoading) void load();
    },
    clear() {
      shown = undefined;
      spinner?.clear();
    },
  };
}
