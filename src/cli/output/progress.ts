/**
 * What a command is busy with, on stderr. On a terminal beside a spinner, once it takes half a second, and gone when the
 * work is done; elsewhere, and for those who cannot see pictures move, a line now and then. What has many parts is shown as a
 * bar with rate and time left, or as a sentence.
 */
import { clearLine, cursorTo, moveCursor } from 'node:readline';
import { Writable } from 'node:stream';
import type { Ora } from 'ora';
import type { OutputStream } from '../context.js';
import { countText, grouped } from '../views/unit.js';
import { safeLine } from './safe-text.js';

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

/** Parts that are done, out of all. */
export interface Measured {
  /** What a part is called. */
  readonly noun: string;
  readonly done: number;
  readonly failed: number;
  readonly total: number;
}

/** Since when it is measured, and how far it was by then: of what was done before, nothing can be told of the rate. */
interface Beginning {
  readonly atMs: number;
  readonly done: number;
}

const MS_PER_SECOND = 1_000;
const SECONDS_PER_MINUTE = 60;
const MAX_BAR = 30;
const LEAST_BAR = 8;
/** Columns that the text beside a bar takes at most, about: so the bar stays as wide as it is. */
const MOST_TEXT = 54;
/** What is over by then is not mentioned. */
const FIRST_MS = 500;
/** Between two lines of text. */
const LINE_MS = 10_000;

/** `45 s`, `3 min 20 s`. */
function secondsText(seconds: number): string {
  const [minutes, rest] = [Math.floor(seconds / SECONDS_PER_MINUTE), seconds % SECONDS_PER_MINUTE];
  return minutes === 0 ? `${rest} s` : `${grouped(minutes)} min ${rest} s`;
}

/** `1,234 of 10,000 elements, 3 failed, 250/s, about 36 s left`. */
export function measuredText(
  { noun, done, failed, total }: Measured,
  begun: Beginning,
  nowMs: number,
): string {
  const elapsed = (nowMs - begun.atMs) / MS_PER_SECOND;
  const rate = elapsed > 0 ? (done - begun.done) / elapsed : 0;
  const left = rate > 0 ? Math.ceil((total - done) / rate) : null;
  return [
    `${grouped(done)} of ${countText(total, noun)}`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed`]),
    ...(rate > 0 ? [`${rate < 10 ? rate.toFixed(1) : grouped(Math.round(rate))}/s`] : []),
    ...(left === null || done === total ? [] : [`about ${secondsText(left)} left`]),
  ].join(', ');
}

/** The same behind a bar, where there is room for one. */
function barText({ done, total }: Measured, text: string, columns: number): string {
  const room = Math.min(MAX_BAR, Math.max(LEAST_BAR, columns - MOST_TEXT));
  if (room + 1 + text.length > columns || total === 0) return text;
  const full = Math.floor((done / total) * room);
  return `${'█'.repeat(full)}${'░'.repeat(room - full)} ${text}`;
}

/** How it is shown. */
interface ProgressTerms {
  readonly wanted: boolean;
  /** A line now and then, where nothing should move. */
  readonly plain: boolean;
  nowMs(): number;
}

const nothing = (): void => undefined;
const NOTHING: Progress = { show: nothing, wait: nothing, measure: nothing, clear: nothing };

/** Columns of the spinner itself, and the last one, which would break the line. */
const SPINNER_COLUMNS = 3;

/** ora on a stream of ours. It gets no hand on signals, standard input and the cursor: those stay with the command. */
async function createSpinner(stream: OutputStream): Promise<Ora> {
  const { default: ora } = await import('ora');
  const write = (text: unknown, _encoding: string, written: () => void): void => {
    stream.write(String(text));
    written();
  };
  const terminal = new Writable({ decodeStrings: false, write });
  const asked = {
    isTTY: true,
    cursorTo: (x: number) => cursorTo(terminal, x),
    moveCursor: (x: number, y: number) => moveCursor(terminal, x, y),
    clearLine: (direction: -1 | 0 | 1) => clearLine(terminal, direction),
  };
  Object.defineProperty(terminal, 'columns', { get: () => stream.columns });
  return ora({
    stream: Object.assign(terminal, asked),
    isEnabled: true,
    color: false,
    // It would read, and throw away, what is typed while it spins, an interruption with it.
    discardStdin: false,
    // It would listen for signals to show the cursor again, and end the process at the first one, in the middle of a request.
    hideCursor: false,
  });
}

/** Progress on a stream. */
export function createProgress(stream: OutputStream, { wanted, plain, nowMs }: ProgressTerms): Progress {
  if (!wanted) return NOTHING;
  /** Since when something is under way. */
  let sinceMs: number | null = null;
  /** A text for a number of columns; `null`: in words only. */
  let text: (columns: number | null) => string = () => '';
  /** The same is measured on, whatever was shown in between. */
  let measured: { readonly look: () => Measured; readonly begun: Beginning } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let spinner: Ora | undefined;
  const elapsedMs = (): number => (sinceMs === null ? 0 : nowMs() - sinceMs);

  /** @param atMs - of the clock, which may stand still while the timer runs. */
  function drawAt(atMs: number): void {
    timer = setTimeout(() => {
      if (elapsedMs() < atMs) drawAt(atMs);
      else if (!plain) void spin();
      else {
        stream.write(`${text(null)}\n`);
        drawAt(elapsedMs() + LINE_MS);
      }
    }, atMs - elapsedMs()).unref();
  }

  async function spin(): Promise<void> {
    const due = timer;
    spinner ??= await createSpinner(stream);
    // Meanwhile the work may be over, and another begun.
    if (timer !== due) return;
    const columns = Math.max(0, stream.columns - SPINNER_COLUMNS);
    spinner.text = text(columns).slice(0, columns);
    spinner.render();
    // Its own timer would keep a process alive that has nothing left to do.
    timer = setTimeout(() => void spin(), spinner.interval).unref();
  }

  const draw = (look: typeof text): void => {
    text = look;
    sinceMs ??= nowMs();
    if (timer === undefined) drawAt(elapsedMs() + (plain && !stream.isTTY ? LINE_MS : FIRST_MS));
  };
  const show = (shown: string): void => {
    const line = safeLine(shown);
    draw(() => {
      const seconds = Math.floor(elapsedMs() / MS_PER_SECOND);
      return seconds < 1 ? line : `(${secondsText(seconds)}) ${line}`;
    });
  };
  return {
    show,
    wait: (shown) => {
      if (sinceMs === null) show(shown);
    },
    measure: (look) => {
      if (measured?.look !== look) measured = { look, begun: { atMs: nowMs(), done: look().done } };
      const { begun } = measured;
      draw((columns) => {
        const now = look();
        const words = measuredText(now, begun, nowMs());
        return columns === null ? words : barText(now, words, columns);
      });
    },
    clear: () => {
      sinceMs = null;
      clearTimeout(timer);
      timer = undefined;
      spinner?.stop();
    },
  };
}
