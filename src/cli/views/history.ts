/** Burns and airdrops as people read them. */
import type { HistoryItem } from '../../contract/schemas/history.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines } from '../output/table.js';
import { linkFields } from './links.js';
import { tokensText } from './unit.js';

/** One that landed; or a burn that has not, or is not known to have. */
export interface HistoryRow extends HistoryItem {
  readonly status: 'SUCCESS' | 'PENDING' | 'FAILED';
  readonly error?: { readonly type: string; readonly message: string } | undefined;
}

const field = (name: string, value: string | undefined): readonly Field[] =>
  value === undefined ? [] : [[name, value]];

/** @param symbol - of the token; `null` where nobody here says */
export const viewHistory = (
  rows: readonly HistoryRow[],
  symbol: string | null,
  style: Style,
): readonly string[] =>
  rows.length === 0
    ? ['No burns or airdrops found.']
    : rows.flatMap(({ action, status, ...row }) => [
        `${row.date} ${style.bold(`${action} ${tokensText(row.amount, symbol)}`)}${
          status === 'SUCCESS' ? '' : style.bad(` ${status}`)
        }`,
        ...fieldLines(
          [
            ...field('to', row.toAddress),
            ['proof', `${safeLine(row.type)} ${row.hash}`],
            ...field('batch', row.batchId),
            ...field('transaction', row.txHash),
            ...(row.txHash === undefined ? [] : linkFields(style, 'tx', row.txHash)),
            ...field('reason', row.error?.message),
          ],
          style,
        ),
      ]);
