/** Operations whose outcome is open, as people read them. */
import type { ListedBatch } from '../../contract/schemas/batch.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, headed, type Layout } from '../output/table.js';
import { totalFields } from './batch.js';
import { agoText } from './unit.js';

/** One operation of the list. */
export interface PendingRow {
  readonly id: string;
  readonly operation: string;
  readonly outcome: string;
  readonly running: boolean;
  readonly command: string;
  readonly idempotencyKey: string;
  readonly dateBegun: string;
  readonly dateChanged: string;
  readonly resume: string;
}

/** What the service of the data directory has left. */
export interface ServiceRow {
  readonly id: string;
  readonly operation: string;
  readonly outcome: string;
  readonly running: boolean;
  readonly idempotencyKey: string | null;
  readonly dateBegun: string;
  readonly signatures: readonly string[];
  readonly resume: string;
}

/** A batch that is set up and not executed. */
export interface WaitingRow extends Pick<ListedBatch, 'id' | 'totals'> {
  readonly operation: 'batch';
  readonly outcome: 'waits for approval';
  readonly running: false;
  readonly dateBegun: string;
  /** Approves and executes it. */
  readonly resume: string;
}

/** The command is what one looks for: it is not pale. */
const plainly = ({ width }: Style): Layout => ({ width, dim: (text) => text });

/** What else a row says. */
function fieldsOf(row: PendingRow | ServiceRow | WaitingRow, symbol: string | null): readonly Field[] {
  if ('totals' in row) return totalFields(row.totals, symbol);
  if ('command' in row) return [['last change', row.dateChanged]];
  return row.signatures.map((signature) => ['transaction', signature]);
}

/** @param symbol - of the token; `null` where nobody here says */
export function viewPending(
  rows: readonly (PendingRow | ServiceRow | WaitingRow)[],
  symbol: string | null,
  nowMs: number,
  style: Style,
): readonly string[] {
  if (rows.length === 0) return ['No pending operations.'];
  return rows.flatMap((row) => [
    ...headed(safeLine(row.id), 'command' in row ? row.command : row.operation, plainly(style), style.bold),
    ...fieldLines(
      [
        ['outcome', row.running ? `${row.outcome} (still running)` : row.outcome],
        ['begun', `${row.dateBegun}, ${agoText(nowMs - Date.parse(row.dateBegun))}`],
        ...fieldsOf(row, symbol),
        ['totals' in row ? 'to execute' : 'to resume', row.resume, 'whole'],
      ],
      style,
    ),
  ]);
}
