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
  if (applied.length === 0) return [style.good(`${database} already has schema version ${to}.`)];
  const names = applied.join(', ');
  return isDryRun
    ? [`${database} would be upgraded from schema version ${from} to ${to}: ${names}.`]
    : [style.good(`${database} was upgraded from schema version ${from} to ${to}: ${names}.`)];
}

export function viewDatabase(status: DatabaseStatus, style: Style): readonly string[] {
  const { schema, chain, projects, sizes, connections, pending } = status;
  const fields: readonly Field[] = [
    ['database', `${status.database} (${status.source})`],
    ['server', `PostgreSQL ${status.serverVersion}, ${status.latencyMs} ms away`],
    ['schema', `version ${schema.version}${schema.upToDate ? '' : `, needs ${schema.needed}`}`],
    [
      'chain',
      chain === null ? 'none yet' : `${chain.name ?? 'another cluster'}, genesis ${chain.genesisHash}`,
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
    ['connections', `${connections.flywheel} by flywheel, ${connections.all} of ${connections.max} in total`],
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
            `wait until block ${status.heldUntilBlock}: transactions of another copy may still land`,
          ] as const,
        ]),
    ...(status.openGaps === 0
      ? []
      : [['gaps', `${status.openGaps} to review: flywheel db accept-gap`] as const]),
  ];
  return fieldLines(fields, style);
}

export const viewFindings = (checks: readonly DatabaseFinding[], style: Style): readonly string[] =>
  checks.map(({ name, ok, detail }) => `${ok ? style.good('ok  ') : style.bad('fail')} ${name}: ${detail}`);

/** What was copied. */
export const viewCopy = ({ database, project, rows, wasThere }: DatabaseCopy): readonly string[] => [
  wasThere
    ? `The database already has everything, as project ${project}: ${rows} rows. Nothing was written.`
    : `Copied ${rows} rows into ${database} as project ${project}, and compared them.`,
];
