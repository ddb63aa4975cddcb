/** A database as people read of it. */
import type {
  DatabaseCopy,
  DatabaseFinding,
  DatabaseMigration,
  DatabaseStatus,
} from '../../contract/database-admin.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines } from '../output/table.js';

const MIB = 1_024 * 1_024;

export function viewMigration(
  { database, from, to, applied }: DatabaseMigration,
  isDryRun: boolean,
  style: Style,
): readonly string[] {
  if (applied.length === 0)
    return [style.good(`${database} has schema version ${to}; there is nothing to do.`)];
  const names = applied.join(', ');
  return isDryRun
    ? [`${database} would be brought from schema version ${from} to ${to}: ${names}.`]
    : [style.good(`${database} was brought from schema version ${from} to ${to}: ${names}.`)];
}

export function viewDatabase(status: DatabaseStatus, style: Style): readonly string[] {
  const { schema, chain, projects, sizes, connections, pending } = status;
  const fields: readonly Field[] = [
    ['database', `${status.database} (${status.source})`],
    ['server', `PostgreSQL ${status.serverVersion}, ${status.latencyMs} ms away`],
    ['schema', `version ${schema.version}${schema.upToDate ? '' : `, needed is ${schema.needed}`}`],
    [
      'chain',
      chain === null ? 'none yet' : `${chain.name ?? 'a cluster of its own'}, genesis ${chain.genesisHash}`,
    ],
    ['projects', String(projects.count)],
    ...projects.first.map(
      ({ name, symbol, mintAddress }): Field => ['', `${name ?? 'without a name'}: ${symbol} ${mintAddress}`],
    ),
    ['size', `${(sizes.bytes / MIB).toFixed(1)} MiB`],
    ...sizes.tables.map(
      ({ name, rows, bytes }): Field => [
        '',
        `${name}: about ${rows.toLocaleString('en')} rows, ${(bytes / MIB).toFixed(1)} MiB`,
      ],
    ),
    ['connections', `${connections.flywheel} of flywheel, ${connections.all} of ${connections.max} in all`],
    ['pending', `${pending.burns} burns, ${pending.batches} batches`],
    ['at work', status.holders.length === 0 ? 'nobody' : String(status.holders.length)],
    ...status.holders.map(
      ({ instance, requests, batches }): Field => [
        '',
        `${instance}: ${requests} requests, ${batches} batches`,
      ],
    ),
    ...(status.heldUntilBlock === null
      ? []
      : [
          [
            'writes',
            `wait until block ${status.heldUntilBlock}: another copy may have sent what can still land`,
          ] as const,
        ]),
    ...(status.openGaps === 0
      ? []
      : [['gaps', `${status.openGaps} to be looked at: flywheel db accept-gap`] as const]),
  ];
  return fieldLines(fields, style);
}

export const viewFindings = (checks: readonly DatabaseFinding[], style: Style): readonly string[] =>
  checks.map(({ name, ok, detail }) => `${ok ? style.good('ok  ') : style.bad('fail')} ${name}: ${detail}`);

/** What was copied. */
export const viewCopy = ({ database, project, rows, wasThere }: DatabaseCopy): readonly string[] => [
  wasThere
    ? `All of it was there already, as project ${project}: ${rows} rows. Nothing was written.`
    : `Copied ${rows} rows into ${database} as project ${project}, and found them again as they were.`,
];
