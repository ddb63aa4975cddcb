/** Operations whose outcome is open, as people read them. */
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { fieldLines } from '../output/table.js';

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

export function viewPending(rows: readonly PendingRow[], style: Style): readonly string[] {
  if (rows.length === 0) return ['Nothing is pending.'];
  return rows.flatMap((row) => [
    `${style.bold(safeLine(row.id))} ${safeLine(row.command)}`,
    ...fieldLines(
      [
        ['outcome', row.running ? `${row.outcome}; a process is at it` : row.outcome],
        ['begun', row.dateBegun],
        ['last change', row.dateChanged],
        ['to resume', row.resume],
      ],
      style.dim,
    ),
  ]);
}
