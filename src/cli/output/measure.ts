/** How far something is that has many parts: as a bar with rate and time left, or as a sentence. */
import { countText, grouped } from '../views/unit.js';

/** Parts that are done, out of all. */
export interface Measured {
  /** What a part is called. */
  readonly noun: string;
  readonly done: number;
  readonly failed: number;
  readonly total: number;
}

/** Since when it is measured, and how far it was by then: of what was done before, nothing can be told of the rate. */
export interface Beginning {
  readonly atMs: number;
  readonly done: number;
}

const MS_PER_SECOND = 1_000;
const MAX_BAR = 30;
const LEAST_BAR = 8;
/** Columns that the text beside a bar takes at most, about: so the bar stays as wide as it is. */
const MOST_TEXT = 54;
const SECONDS_PER_MINUTE = 60;

/** `45 s`, `3 min 20 s`. */
export function secondsText(seconds: number): string {
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
export function barText(measured: Measured, text: string, columns: number): string {
  const room = Math.min(MAX_BAR, Math.max(LEAST_BAR, columns - MOST_TEXT));
  if (room + 1 + text.length > columns || measured.total === 0) return text;
  const full = Math.floor((measured.done / measured.total) * room);
  return `${'█'.repeat(full)}${'░'.repeat(room - full)} ${text}`;
}
