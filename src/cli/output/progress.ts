/**
 * Progress on stderr. On a terminal: a spinner with count, rate and time left, after half a second, removed at the end.
 * Elsewhere, and with NO_COLOR or TERM=dumb: a line of text every 10 s.
 */

import { clearLine, cursorTo, moveCursor } from 'node:readline';
import { Writable } from 'node:stream';
import type { Ora } from 'ora';
import { grouped } from '../../values/token-amount.js';
import type { OutputStream } from '../context.js';
import { countText } from '../views/unit.js';
import { safeLine } from './safe-text.js';

export interface Progress {
  show(text: string): void;
  /** Sets a text unless there is one. */
  wait(text: string): void;
  /** Shows a count; `look` runs at each redraw. */
  measure(look: () => Measured): void;
  clear(): void;
}

export interface Measured {
  readonly noun: string;
  readonly done: number;
  readonly failed: number;
  readonly total: number;
}

/** Start of a measurement; work done before it does not count for the rate. */
interface Beginning {
  readonly atMs: number;
  readonly done: number;
}

const MS_PER_SECOND = 1_000;
const SECONDS_PER_MINUTE = 60;
/** Progress appears after this time. */
const FIRST_MS = 500;
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

interface ProgressTerms {
  readonly wanted: boolean;
  readonly plain: boolean;
  nowMs(): number;
}

const nothing = (): void => undefined;
const NOTHING: Progress = { show: nothing, wait: nothing, measure: nothing, clear: nothing };

/** The spinner, a space, and the last column, which would wrap the line. */
const SPINNER_COLUMNS = 3;

/** ora on our stream. It may not touch signals, standard input or the cursor: the command handles those. */
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
    // ora's default discards typed input, Ctrl-C included.
    discardStdin: false,
    // To restore a hidden cursor, ora listens for signals and ends the process at the first one, in the middle of a request.
    hideCursor: false,
  });
}

export function createProgress(stream: OutputStream, { wanted, plain, nowMs }: ProgressTerms): Progress {
  if (!wanted) return NOTHING;
  /** `null`: nothing is in progress. */
  let sinceMs: number | null = null;
  let text = (): string => '';
  /** Survives other texts, so that the rate continues. */
  let measured: { readonly look: () => Measured; readonly begun: Beginning } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let spinner: Ora | undefined;
  const elapsedMs = (): number => (sinceMs === null ? 0 : nowMs() - sinceMs);

  /** @param atMs - elapsed time by `nowMs`, which may stop while the timer runs */
  function drawAt(atMs: number): void {
    timer = setTimeout(() => {
      if (elapsedMs() < atMs) drawAt(atMs);
      else if (!plain) void spin();
      else {
        stream.write(`${text()}\n`);
        drawAt(elapsedMs() + LINE_MS);
      }
    }, atMs - elapsedMs()).unref();
  }

  async function spin(): Promise<void> {
    const due = timer;
    spinner ??= await createSpinner(stream);
    // During the import this work may have ended and other work may have begun.
    if (timer !== due) return;
    const columns = Math.max(0, stream.columns - SPINNER_COLUMNS);
    spinner.text = text().slice(0, columns);
    spinner.render();
    // ora's own timer would keep the process alive after the command is done.
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
      draw(() => measuredText(look(), begun, nowMs()));
    },
    clear: () => {
      sinceMs = null;
      clearTimeout(timer);
      timer = undefined;
      spinner?.stop();
    },
  };
}
