/** `flywheel audit`: who registered, made and revoked what, newest first. */
import type { Command } from '@commander-js/extra-typings';
import type { AuditAct } from '../../contract/admin.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { integerOption } from '../options/amounts.js';
import { timesQuery } from '../options/filters.js';
import { viewAudit } from '../views/audit.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000_000;

const COLUMNS = ['date', 'who', 'what', 'project', 'subject', 'detail'] as const;

const cells = (act: AuditAct) => [
  act.date,
  act.actor,
  act.action,
  act.project ?? undefined,
  act.subject ?? undefined,
  JSON.stringify(act.detail),
];

const configure = (command: Command) =>
  command
    .option('--since <time>', 'only entries at this time or later: 24h, yesterday, ISO 8601')
    .option('--until <time>', 'only entries before this time')
    .option('--limit <n>', `most entries to print (default: ${DEFAULT_LIMIT})`);

async function run(session: Session, _args: [], options: OptionsOf<typeof configure>): Promise<undefined> {
  const times = timesQuery(session, options);
  const acts = await (await session.local()).audit({
    ...times,
    limit: integerOption('--limit', options.limit, { least: 1, most: MAX_LIMIT, fallback: DEFAULT_LIMIT }),
  });
  await session.output.list(acts, { columns: COLUMNS, cells }, (style) => viewAudit(acts, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Registrations, key changes, copies, migrations and accepted gaps are logged in the same transaction. The database refuses to change or delete an entry. The log holds no secrets.',
  ],
  output: ['[ { "date", "actor", "action", "project", "subject", "detail" } ]'],
  csv: COLUMNS,
  examples: ['flywheel audit', 'flywheel audit --since 2026-01-01 --output csv > audit.csv'],
});
