/** A chart of stacked bars as SVG text; what it looks like is for the page's style to say. */
import { scaleBand, scaleLinear } from 'd3-scale';
import { visibleLine } from '../../values/text.js';

/** One piece of a bar: how much of what. */
interface Piece {
  readonly series: number;
  readonly value: number;
  /** Said where the pointer rests on it. */
  readonly title: string;
}

/** A bar and what stands below it. */
export interface Bar {
  readonly label: string;
  readonly pieces: readonly Piece[];
}

const HEIGHT = 260;
const MARGIN = { top: 10, right: 10, bottom: 28, left: 70 } as const;
const LEAST_WIDTH = 720;
const LEAST_BAR_WIDTH = 14;
const MOST_BAR_WIDTH = 90;
/** Narrower its letters could not be read. */
const LEAST_SHOWN_WIDTH = 540;
/** Room that a label below takes. */
const LABEL_WIDTH = 84;
const TICKS = 5;

/** Text that may stand in HTML, as text and in an attribute; without what is hidden, or is obeyed where the file is printed. */
export const escapeHtml = (text: string): string =>
  visibleLine(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 });

const sumOf = ({ pieces }: Bar): number => pieces.reduce((sum, { value }) => sum + value, 0);

function barMarkup(bar: Bar, x: number, width: number, y: (value: number) => number): string {
  let below = 0;
  const pieces = bar.pieces.map(({ series, value, title }) => {
    const top = y(below + value);
    const height = y(below) - top;
    below += value;
    return `<rect class="s${series}" x="${x.toFixed(1)}" y="${top.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}"><title>${escapeHtml(title)}</title></rect>`;
  });
  return pieces.join('');
}

/**
 * @param name - what the chart says in words, for who cannot see it.
 * @param bars - in order; their numbers are only drawn.
 */
export function barChart(name: string, bars: readonly Bar[]): string {
  const width = Math.max(LEAST_WIDTH, MARGIN.left + MARGIN.right + bars.length * LEAST_BAR_WIDTH);
  const floor = HEIGHT - MARGIN.bottom;
  const y = scaleLinear([0, Math.max(...bars.map(sumOf), Number.MIN_VALUE)], [floor, MARGIN.top]).nice(TICKS);
  const labels = bars.map(({ label }) => label);
  const x = scaleBand(labels, [MARGIN.left, width - MARGIN.right]).padding(0.2);
  const every = Math.max(1, Math.ceil(LABEL_WIDTH / x.step()));
  const lines = y.ticks(TICKS).map((tick) => {
    const at = y(tick).toFixed(1);
    return `<line x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${at}" y2="${at}"/><text class="left" x="${MARGIN.left - 8}" y="${at}" dy=".32em">${compact.format(tick)}</text>`;
  });
  const drawn = bars.map((bar, index) => {
    const left = x(bar.label) ?? 0;
    const label =
      index % every === 0
        ? `<text class="below" x="${(left + x.bandwidth() / 2).toFixed(1)}" y="${floor + 18}">${escapeHtml(bar.label)}</text>`
        : '';
    const drawnWidth = Math.min(MOST_BAR_WIDTH, x.bandwidth());
    return `${barMarkup(bar, left + (x.bandwidth() - drawnWidth) / 2, drawnWidth, y)}${label}`;
  });
  return `<div class="chart" tabindex="0" role="group" aria-label="${escapeHtml(name)}"><svg role="img" aria-label="${escapeHtml(name)}" viewBox="0 0 ${width} ${HEIGHT}" style="min-width:${width > LEAST_WIDTH ? width : LEAST_SHOWN_WIDTH}px">${lines.join('')}${drawn.join('')}</svg></div>`;
}
