/**
 * What a command is busy with, on stderr. On a terminal beside a spinner, once it takes half a second, and gone when the
 * work is done; elsewhere, and for those who cannot see pictures move, a line now and then.
 */
import type { OutputStream } from '../context.js';
import { type Beginning, barText, type Measured, measuredText, secondsText } from './measure.js';
import { safeLine } from './safe-text.js';
import type { Spinner } from './spinner.js';

export interface Progress {
  /** Shows this instead of what was shown. */
  show(text: string): void;
  /** Shows this unless something is shown. */
  wait(text: string): void;
  /** Shows how far it is, looked at whenever it is drawn. */
  measure(look: () => Measured): void;
  /** Takes the line away. */
  clear(): void;
}

/** How it is shown. */
interface ProgressTerms {
  readonly wanted: boolean;
  /** A line now and then, where nothing should move. */
  readonly plain: boolean;
  nowMs(): number;
}

/** What is over by then is not mentioned. */
const FIRST_MS = 500;
/** Between two lines of text. */
const LINE_MS = 10_000;
const MS_PER_SECOND = 1_000;

const nothing = (): void => undefined;
const NOTHING: Progress = { show: nothing, wait: nothing, measure: nothing, clear: nothing };

/** A text for a number of columns; `null`: in words only. */
type Look = (columns: number | null) => string;

/** Progress on a stream. */
export function createProgress(stream: OutputStream, terms: ProgressTerms): Progress {
  if (!terms.wanted) return NOTHING;
  const shown = new Shown(terms);
  const shower = terms.plain ? new Lines(stream, shown) : new Drawn(stream, shown);
  return {
    show: (text) => {
      shown.say(text);
      shower.begin();
    },
    wait: (text) => {
      if (shown.isBusy) return;
      shown.say(text);
      shower.begin();
    },
    measure: (look) => {
      shown.measure(look);
      shower.begin();
    },
    clear: () => {
      shown.end();
      shower.end();
    },
  };
}

/** What is to be seen, and since when. */
class Shown {
  readonly #terms: Pick<ProgressTerms, 'nowMs'>;
  #look: Look = () => '';
  #sinceMs: number | null = null;
  /** The same is measured on, whatever was shown in between. */
  #measured: { readonly look: () => Measured; readonly begun: Beginning } | undefined;

  constructor(terms: Pick<ProgressTerms, 'nowMs'>) {
    this.#terms = terms;
  }

  say(text: string): void {
    this.#sinceMs ??= this.#terms.nowMs();
    const since = this.#sinceMs;
    const line = safeLine(text);
    this.#look = () => {
      const seconds = Math.floor((this.#terms.nowMs() - since) / MS_PER_SECOND);
      return seconds < 1 ? line : `(${secondsText(seconds)}) ${line}`;
    };
  }

  measure(look: () => Measured): void {
    const atMs = this.#terms.nowMs();
    this.#sinceMs ??= atMs;
    if (this.#measured?.look !== look) this.#measured = { look, begun: { atMs, done: look().done } };
    const { begun } = this.#measured;
    this.#look = (columns) => {
      const measured = look();
      const text = measuredText(measured, begun, this.#terms.nowMs());
      return columns === null ? text : barText(measured, text, columns);
    };
  }

  end(): void {
    this.#sinceMs = null;
  }

  get elapsedMs(): number {
    return this.#sinceMs === null ? 0 : this.#terms.nowMs() - this.#sinceMs;
  }

  get isBusy(): boolean {
    return this.#sinceMs !== null;
  }

  /** As it is now; `null` where nothing is under way. */
  text(columns: number | null): string | null {
    if (this.#sinceMs === null) return null;
    return this.#look(columns);
  }
}

/** Beside a spinner, which is loaded when the first work takes its time. */
class Drawn {
  readonly #stream: OutputStream;
  readonly #shown: Shown;
  #timer: NodeJS.Timeout | undefined;
  #spinner: Spinner | undefined;

  constructor(stream: OutputStream, shown: Shown) {
    this.#stream = stream;
    this.#shown = shown;
  }

  begin(): void {
    this.#timer ??= setTimeout(() => void this.#draw(), FIRST_MS).unref();
  }

  async #draw(): Promise<void> {
    // By the clock, which may stand still while the timer runs.
    const early = FIRST_MS - this.#shown.elapsedMs;
    if (early > 0) {
      this.#timer = setTimeout(() => void this.#draw(), early).unref();
      return;
    }
    const { createSpinner } = await import('./spinner.js');
    this.#spinner ??= createSpinner(this.#stream);
    // Meanwhile the work may be over.
    if (this.#shown.text(null) !== null) this.#spinner.start((columns) => this.#shown.text(columns) ?? '');
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#spinner?.clear();
  }
}

/** A line now and then; on a terminal the first one soon, so that it is known that something goes on. */
class Lines {
  readonly #stream: OutputStream;
  readonly #shown: Shown;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: OutputStream, shown: Shown) {
    this.#stream = stream;
    this.#shown = shown;
  }

  begin(): void {
    this.#timer ??= this.#after(this.#stream.isTTY ? FIRST_MS : LINE_MS);
  }

  /** @param ms - of the clock, which may stand still while the timer runs. */
  #after(ms: number, fromMs = this.#shown.elapsedMs): NodeJS.Timeout {
    return setTimeout(() => {
      const early = fromMs + ms - this.#shown.elapsedMs;
      const text = early > 0 ? null : this.#shown.text(null);
      if (text !== null) this.#stream.write(`${text}\n`);
      this.#timer = early > 0 ? this.#after(early, this.#shown.elapsedMs) : this.#after(LINE_MS);
    }, ms).unref();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
