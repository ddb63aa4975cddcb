/** Operations whose outcome is open, as people read them. */
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { fieldLines, headed, type Layout } from '../output/table.js';

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

/** The command is what one looks for: it is not pale. */
const plainly = ({ width }: Style): Layout => ({ width, dim: (text) => text });

export function viewPending(rows: readonly (PendingRow | ServiceRow)[], style: Style): readonly string[] {
  if (rows.length === 0) return ['Nothing is pending.'];
  return rows.flatMap((row) => [
    ...headed(safeLine(row.id), 'command' in row ? row.command : row.operation, plainly(style), style.bold),
    ...fieldLines(
      [
        ['outcome', row.running ? `${row.outcome}; a process is at it` : row.outcome],
        ['begun', row.dateBegun],
        ...('command' in row
          ? [['last change', row.dateChanged] as const]
          : row.signatures.map((signature) => ['transaction', signature] as const)),
        ['to resume', row.resume, 'whole'],
      ],
      style,
    ),
  ]);
}
