/** A report as one page that loads nothing else: to be looked at, printed, and sent on. */
import { scaleBand, scaleLinear } from 'd3-scale';
import type { Report, ReportRow } from '../../contract/schemas/report.js';
import { visibleLine } from '../../values/text.js';
import { reportTotals, spanOf } from '../views/report.js';
import { grouped, solOf } from '../views/unit.js';

/** One piece of a bar: how much of what. */
interface Piece {
  readonly series: number;
  readonly value: number;
  /** Said where the pointer rests on it. */
  readonly title: string;
}

/** A bar and what stands below it. */
interface Bar {
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
function barChart(name: string, bars: readonly Bar[]): string {
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

/** Types that have a colour of their own; those beyond share the last one. */
const SERIES = 6;

const STYLE = `
:root { color-scheme: light dark; --ink: #16181d; --paper: #fbfbfa; --line: #d9dad6; --quiet: #5c616b;
  --s0: #1f4fd8; --s1: #0f7a55; --s2: #b4470c; --s3: #7a3fb8; --s4: #a3231b; --s5: #5c616b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9eaec; --paper: #131417; --line: #33363d; --quiet: #a3a8b2;
  --s0: #8fb0ff; --s1: #5fd39a; --s2: #ffb27a; --s3: #cfa6ff; --s4: #ff8b82; --s5: #a3a8b2; } }
@media print { :root { color-scheme: light; } body { padding: 0; } .chart { overflow: visible; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 68rem; margin: 0 auto; }
h1 { margin: 0; font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: 1.125rem; }
.quiet, dt { color: var(--quiet); }
.quiet { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 1rem 0; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.chart, .table { overflow-x: auto; }
.chart:focus-visible, .table:focus-visible { outline: 2px solid var(--s0); outline-offset: 2px; }
svg { display: block; width: 100%; height: auto; }
svg line { stroke: var(--line); }
svg text { fill: var(--quiet); font-size: 12px; }
.left { text-anchor: end; } .below { text-anchor: middle; }
${Array.from({ length: SERIES }, (_, at) => `.s${at} { fill: var(--s${at}); background: var(--s${at}); }`).join(' ')}
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; list-style: none; }
.legend i { display: inline-block; width: .75em; height: .75em; margin-right: .5em; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .375rem .75rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .text { text-align: left; }
thead th { color: var(--quiet); font-weight: 600; }
`;

/** What is drawn of the rows: a bar for each period, in pieces by type. */
function barsOf(
  rows: readonly ReportRow[],
  measure: 'burned' | 'airdropped',
  types: readonly string[],
): readonly Bar[] {
  const bars = new Map<string, Bar['pieces'][number][]>();
  for (const row of rows) {
    const label = row.period ?? 'all';
    const pieces = bars.get(label) ?? [];
    bars.set(label, pieces);
    const of = row.type === null ? label : `${label}, ${row.type}`;
    const series = Math.min(SERIES - 1, Math.max(0, types.indexOf(row.type ?? '')));
    if (row[measure] !== '0')
      pieces.push({ series, value: Number(row[measure]), title: `${of}: ${grouped(row[measure])}` });
  }
  return [...bars].map(([label, pieces]) => ({ label, pieces }));
}

function chart(report: Report, measure: 'burned' | 'airdropped', types: readonly string[]): string {
  const { rows, total, symbol } = report;
  const heading = measure === 'burned' ? 'Burned' : 'Airdropped';
  if (total[measure] === '0') return '';
  const name = `${heading} by period: ${grouped(total[measure])} ${symbol} in total; the table below has all figures`;
  const legend = types.map(
    (type, at) => `<li><i class="s${Math.min(SERIES - 1, at)}"></i>${escapeHtml(type)}</li>`,
  );
  return `<h2>${heading} (${escapeHtml(symbol)})</h2>${barChart(name, barsOf(rows, measure, types))}${
    legend.length === 0 ? '' : `<ul class="legend">${legend.join('')}</ul>`
  }`;
}

const HEADINGS = [
  'burned',
  'airdropped',
  'burns',
  'failed',
  'pipelines',
  'failed',
  'fees (SOL)',
  'token accounts (SOL)',
  'batch rent (SOL)',
  'came back (SOL)',
  'cost (SOL)',
];

function tableRow(row: ReportRow, isByType: boolean): string {
  const first = [row.period ?? 'all', ...(isByType ? [row.type ?? '(batches)'] : [])];
  const numbers = [
    grouped(row.burned),
    grouped(row.airdropped),
    ...[row.burns, row.failedBurns, row.pipelines, row.failedPipelines].map((count) =>
      grouped(String(count)),
    ),
    ...[row.feeLamports, row.vaultRentLamports, row.rentPaidLamports].map(solOf),
    ...[row.rentReclaimedLamports, row.costLamports].map(solOf),
  ];
  const [head = '', ...others] = first.map(escapeHtml);
  return `<tr><th scope="row">${head}</th>${others.map((text) => `<td class="text">${text}</td>`).join('')}${numbers
    .map((text) => `<td>${text}</td>`)
    .join('')}</tr>`;
}

/** @param madeAt - ISO text. */
export function reportHtml(report: Report, madeAt: string): string {
  const types = [...new Set(report.rows.flatMap(({ type }) => type ?? []))].sort();
  const isByType = types.length > 0;
  const title = `Report on ${report.symbol}`;
  const facts = reportTotals(report).flatMap(([name, value]) =>
    value == null ? [] : `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(String(value))}</dd>`,
  );
  const heads = [
    ...(isByType ? ['<th scope="col" class="text">type</th>'] : []),
    ...HEADINGS.map((text) => `<th scope="col">${text}</th>`),
  ];
  const rows = report.rows.map((row) => tableRow(row, isByType));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>
<p class="quiet">${escapeHtml([spanOf(report) || 'all time', `generated ${madeAt}`, `mint ${report.mintAddress}`].join(' · '))}</p>
<dl>${facts.join('')}</dl>
${rows.length === 0 ? '<p>Nothing was burned or airdropped.</p>' : ''}
${chart(report, 'burned', types)}${chart(report, 'airdropped', types)}
${rows.length === 0 ? '' : `<h2>All figures</h2><div class="table" tabindex="0" role="group" aria-label="All figures"><table><thead><tr><th scope="col">period</th>${heads.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`}
</main></body></html>
`;
}
