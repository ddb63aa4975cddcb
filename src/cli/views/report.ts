/** A report as people read it: sums, and a bar for each period. */
import type { Report, ReportRow, ReportSums } from '../../contract/schemas/report.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, tableLines } from '../output/table.js';
import { countText, grouped, solText, tokensText } from './unit.js';

const BAR = '█';
const MAX_BAR = 30;
const LEAST_BAR = 8;
/** What a line has beside its bar, about. */
const BESIDE_BAR = 60;

/** `98.7 %`, never rounded up to all. */
function rate(done: number, failed: number): string {
  if (done + failed === 0) return 'nothing yet';
  const tenths = Math.floor((done * 1_000) / (done + failed));
  return `${tenths / 10} % of ${grouped(done + failed)}`;
}

function bars(rows: readonly ReportRow[], width: number): readonly string[] {
  const room = Math.max(LEAST_BAR, Math.min(MAX_BAR, width - BESIDE_BAR));
  const most = rows.reduce((high, { burned }) => Math.max(high, Number(burned)), 0);
  return rows.map(({ burned }) =>
    burned === '0' ? '' : BAR.repeat(Math.max(1, Math.round((Number(burned) * room) / most))),
  );
}

/** The sums over all, each with its name. */
export const reportTotals = ({
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
  ['burns', countOf(total.burns, total.failedBurns)],
  ['pipelines', countOf(total.pipelines, total.failedPipelines)],
  ['succeeded', successOf(total)],
  ['fees', solText(total.feeLamports)],
  ['token accounts', `${solText(total.vaultRentLamports)} of rent for new recipients, paid by the vault`],
  [
    'batch rent',
    `${solText(total.rentPaidLamports)} paid, ${solText(total.rentReclaimedLamports)} came back`,
  ],
  ['cost', solText(total.costLamports)],
  ['outcome unknown', pendingBurns === 0 ? null : countText(pendingBurns, 'burn')],
];

const countOf = (done: number, failed: number): string =>
  failed === 0 ? grouped(done) : `${grouped(done)}, and ${grouped(failed)} failed`;

const successOf = ({ burns, pipelines, failedBurns, failedPipelines }: ReportSums): string =>
  rate(burns + pipelines, failedBurns + failedPipelines);

/** The time that it is about; empty where that is all. */
export const spanOf = ({ since, until }: Report): string =>
  [since === null ? '' : `since ${since}`, until === null ? '' : `until ${until}`].filter(Boolean).join(', ');

/** Totals, then a line for each row. */
export function viewReport(report: Report, style: Style): readonly string[] {
  const { rows, symbol } = report;
  const span = spanOf(report);
  const head = [style.bold(`Report on ${safeLine(symbol)}${span === '' ? '' : ` ${safeLine(span)}`}`)];
  if (rows.length === 0) return [...head, 'Nothing was burned or airdropped.'];
  const lengths = bars(rows, style.width);
  const isByType = rows.some(({ type }) => type !== null);
  const table = tableLines(
    [
      { title: 'period' },
      ...(isByType ? [{ title: 'type' }] : []),
      { title: 'burned', align: 'right' as const },
      { title: 'airdropped', align: 'right' as const },
      { title: '' },
    ],
    rows.map(({ period, type, burned, airdropped }, index) => [
      period ?? 'all',
      ...(isByType ? [type ?? '(batches)'] : []),
      grouped(burned),
      grouped(airdropped),
      lengths[index] ?? '',
    ]),
    style.width,
  );
  return [...head, ...fieldLines(reportTotals(report), style), '', ...table];
}
