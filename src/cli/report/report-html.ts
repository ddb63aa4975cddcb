/** A report as one page that loads nothing else: to be looked at, printed, and sent on. */
import type { Report, ReportRow } from '../../contract/schemas/report.js';
import { reportTotals, spanOf } from '../views/report.js';
import { grouped, solOf } from '../views/unit.js';
import { type Bar, barChart, escapeHtml } from './bar-chart.js';

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
  const facts = reportTotals(report).map(
    ([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`,
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
