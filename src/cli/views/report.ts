/** Formats a report of burns, airdrops and costs: for a terminal, as CSV, and as one HTML page that loads nothing else. */

import type { Report, ReportRow } from '../../contract/schemas/report.js';
import { visibleLine } from '../../values/text.js';
import { grouped } from '../../values/token-amount.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Columns, cellsOf, type Field, fieldLines, tableLines } from '../output/table.js';
import { words } from './project.js';
import { countText, solOf, solText, tokensText } from './unit.js';

const SUMS = ['burns', 'failedBurns', 'pipelines', 'failedPipelines'] as const;
const LAMPORTS = ['burnWalletLamports', 'operatorLamports', 'vaultLamports', 'costLamports'] as const;

export const REPORT_CSV: Columns<ReportRow> = {
  ...({ period: 'period', type: 'type', burned: 'burned', airdropped: 'airdropped' } as const),
  ...Object.fromEntries([...SUMS, ...LAMPORTS].map((name) => [words(name), name])),
};

const shownColumns = ({ rows }: Report): Columns<ReportRow> => ({
  period: ({ period }) => period ?? 'all',
  ...(rows.some(({ type }) => type !== null)
    ? { type: ({ type }: ReportRow) => type ?? '(fees of batches)' }
    : {}),
  burned: ({ burned }) => grouped(burned),
  airdropped: ({ airdropped }) => grouped(airdropped),
});

/** Counts with separators, lamports as SOL. */
const allColumns = (report: Report): Columns<ReportRow> => ({
  ...shownColumns(report),
  ...Object.fromEntries(SUMS.map((name) => [words(name), (row: ReportRow) => grouped(row[name])])),
  ...Object.fromEntries(
    LAMPORTS.map((name) => [words(name).replace('lamports', '(SOL)'), (row: ReportRow) => solOf(row[name])]),
  ),
});

/** `98.7 %`; never rounded up to 100 %. */
function rate(done: number, failed: number): string {
  if (done + failed === 0) return 'nothing yet';
  const tenths = Math.floor((done * 1_000) / (done + failed));
  return `${tenths / 10} % of ${grouped(done + failed)}`;
}

const reportTotals = ({
  symbol,
  supply,
  chargesTransferFee,
  total,
  pendingBurns,
}: Report): readonly Field[] => [
  ['burned', tokensText(total.burned, symbol)],
  ['airdropped', tokensText(total.airdropped, symbol)],
  ['', chargesTransferFee ? 'Recipients received less: the token charges a fee on each transfer.' : null],
  ['supply now', tokensText(supply, symbol)],
  ['single burns', countOf(total.burns, total.failedBurns)],
  ['pipelines', countOf(total.pipelines, total.failedPipelines)],
  ['succeeded', rate(total.burns + total.pipelines, total.failedBurns + total.failedPipelines)],
  ['burn wallet paid', solText(total.burnWalletLamports)],
  ['operator paid', solText(total.operatorLamports)],
  ['vault paid', solText(total.vaultLamports)],
  ['cost', solText(total.costLamports)],
  ['', 'Rent of open batches is included until it comes back.'],
  ['outcome unknown', pendingBurns === 0 ? null : countText(pendingBurns, 'burn')],
];

const countOf = (done: number, failed: number): string =>
  failed === 0 ? grouped(done) : `${grouped(done)}, and ${grouped(failed)} failed`;

const spanOf = ({ since, until }: Report): string =>
  [since === null ? '' : `since ${since}`, until === null ? '' : `until ${until}`].filter(Boolean).join(', ');

export function viewReport(report: Report, style: Style): readonly string[] {
  const { rows, symbol } = report;
  const span = spanOf(report);
  const head = [style.bold(`Report on ${safeLine(symbol)}${span === '' ? '' : ` ${safeLine(span)}`}`)];
  if (rows.length === 0) return [...head, 'Nothing was burned or airdropped.'];
  const table = tableLines(rows, shownColumns(report), style.width, { right: ['burned', 'airdropped'] });
  return [...head, ...fieldLines(reportTotals(report), style), '', ...table];
}

const STYLE = `
:root { color-scheme: light dark; --ink: #16181d; --paper: #fbfbfa; --line: #d9dad6; --quiet: #5c616b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e9eaec; --paper: #131417; --line: #33363d; --quiet: #a3a8b2; } }
@media print { :root { color-scheme: light; } body { padding: 0; } }
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
.table { overflow-x: auto; }
.table:focus-visible { outline: 2px solid var(--ink); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .375rem .75rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .text { text-align: left; }
thead th { color: var(--quiet); font-weight: 600; }
`;

/** For HTML text and attributes. Removes hidden and control characters. */
const escapeHtml = (text: string): string =>
  visibleLine(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function figures(report: Report): string {
  const columns = allColumns(report);
  const head = Object.keys(columns).map((name) => `<th scope="col">${escapeHtml(name)}</th>`);
  const rows = report.rows.map((row) => {
    const cells = cellsOf(row, columns).map((cell, at) => {
      const text = escapeHtml(String(cell));
      return at === 0 ? `<th scope="row">${text}</th>` : `<td>${text}</td>`;
    });
    return `<tr>${cells.join('')}</tr>`;
  });
  return `<h2>All figures</h2><div class="table" tabindex="0" role="group" aria-label="All figures"><table><thead><tr>${head.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

export function reportHtml(report: Report, madeAt: string): string {
  const title = escapeHtml(`Report on ${report.symbol}`);
  const facts = reportTotals(report).flatMap(([name, value]) =>
    value == null ? [] : `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(String(value))}</dd>`,
  );
  const about = [spanOf(report) || 'all time', `generated ${madeAt}`, `mint ${report.mintAddress}`];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>${STYLE}</style></head>
<body><main><h1>${title}</h1>
<p class="quiet">${escapeHtml(about.join(' · '))}</p>
<dl>${facts.join('')}</dl>
${report.rows.length === 0 ? '<p>Nothing was burned or airdropped.</p>' : figures(report)}
</main></body></html>
`;
}
