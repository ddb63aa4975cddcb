/** `flywheel db`: status, copy, migration and checks of a database; `check` and `accept-gap` also work on a data directory. */
import type { Command } from '@commander-js/extra-typings';
import type { DatabaseAdmin, DatabaseStatus } from '../../compose/database-admin.js';
import { KNOWN_CHECK } from '../../contract/admin.js';
import { EXIT } from '../../errors/exit-codes.js';
import { invalidInput, usageError } from '../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { requireConsent, showSubject } from '../consent.js';
import type { Answer } from '../context.js';
import { commandLine } from '../operation/resume-line.js';
import { integer } from '../options.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines } from '../output/table.js';
import { countText, tokensText } from '../views/unit.js';

const MIB = 1_024 * 1_024;

function viewDatabase(status: DatabaseStatus, style: Style, { settings }: Session): readonly string[] {
  const { schema, chain, projects, sizes, connections, pending } = status;
  const fields: readonly Field[] = [
    ['database', `${status.database} (${status.source})`],
    ['server', `PostgreSQL ${status.serverVersion}, ${status.latencyMs} ms away`],
    ['schema', `version ${schema.version}${schema.upToDate ? '' : `, needs ${schema.needed}`}`],
    [
      'chain',
      chain === null ? 'none yet' : `${chain.name ?? 'another cluster'}, genesis ${chain.genesisHash}`,
    ],
    ['projects', projects.count],
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
    ['pending', `${countText(pending.burns, 'burn')}, ${countText(pending.batches, 'batch', 'batches')}`],
    ['servers at work', status.holders.length || 'none'],
    ...status.holders.map(
      ({ instance, requests, batches }): Field => [
        '',
        `${instance}: ${countText(requests, 'request')}, ${countText(batches, 'batch', 'batches')}`,
      ],
    ),
    [
      'writes',
      status.heldUntilBlock &&
        `wait until block ${status.heldUntilBlock}: transactions of another copy may still land`,
    ],
    ['gaps', status.openGaps || null],
    ['', status.openGaps === 0 ? null : `review them: ${commandLine(settings, 'db', 'accept-gap')}`],
  ];
  return fieldLines(fields, style);
}

const MAX_SHOWN = 20;

const burnsText = ({ burns, transactions }: NonNullable<Answer<'gap'>>): string =>
  burns === transactions
    ? countText(burns, 'burn')
    : `${countText(transactions, 'transaction')} with ${countText(burns, 'burn')}`;

function viewGap(gap: NonNullable<Answer<'gap'>>): readonly string[] {
  const { symbol, burned, airdropped, lost } = gap;
  const shown = lost
    .slice(0, MAX_SHOWN)
    .map(
      (one) =>
        `  ${one.date ?? 'at an unknown time'}  ${one.txHash}  burned ${one.burned}, airdropped ${one.airdropped}`,
    );
  const more = lost.length - shown.length;
  return [
    `The chain has ${burnsText(gap)} of ${gap.project ?? symbol} that the store lacks: ${tokensText(burned, symbol)} burned, ${airdropped} airdropped.`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more; --output json lists all`] : []),
  ];
}

const gapOptions = (command: Command) =>
  command.addOption(
    integer(
      '--expect <n>',
      'accept only if this many transactions are missing (required with --yes)',
      0,
      1_000_000,
    ),
  );

/** With --yes no one reads the report, so its size must be given. @throws `ERR_USAGE`, `ERR_INPUT_INVALID` */
function requireExpected(
  session: Session,
  { transactions }: NonNullable<Answer<'gap'>>,
  expected: number | undefined,
): void {
  if (expected === undefined && session.settings.yes)
    throw usageError(
      '--yes needs --expect, the number of missing transactions.',
      `Review them first (${transactions} are missing): \`${commandLine(session.settings, 'db', 'accept-gap')}\``,
    );
  if (expected === undefined || expected === transactions) return;
  throw invalidInput(
    `--expect: ${transactions} transactions are missing, not ${expected}. Nothing was accepted.`,
  );
}

async function acceptGap(session: Session, _args: [], { expect }: OptionsOf<typeof gapOptions>) {
  const local = await session.local();
  const gap = await local.gap();
  if (gap === null) return { accepted: false, gap };
  requireExpected(session, gap, expect);
  if (!session.settings.yes) showSubject(session, viewGap(gap).join('\n'));
  await requireConsent(
    session,
    `Accept ${burnsText(gap)} without a record? A lost request that is sent again burns again.`,
    { without: `--yes --expect ${gap.transactions}`, otherwise: 'Nothing was accepted.' },
  );
  await local.acceptGap(gap.transactions);
  return { accepted: true, gap };
}

export const commands = {
  status: defineCommand({
    run: async ({ context, settings }) => (await context.openDatabase(settings)).status(),
    view: viewDatabase,
    details: ['Row counts are estimates. A process that ended may be listed until its lease expires.'],
    output: [
      '{ "database", "source", "serverVersion", "latencyMs", "schema": { "version", "needed", "upToDate" }, "chain": { "name", "genesisHash" }|null,',
      '  "projects": { "count", "first": [ { "name", "symbol", "mintAddress" } ] }, "sizes": { "bytes", "tables": [ { "name", "rows", "bytes" } ] },',
      '  "connections": { "flywheel", "all", "max" }, "pending": { "burns", "batches" }, "holders": [ { "instance", "requests", "batches" } ], "openGaps",',
      '  "heldUntilBlock": "digits"|null }',
    ],
    examples: ['flywheel db status', 'flywheel db status --json'],
  }),
  copy: defineCommand({
    run: async ({ context, settings }) => (await context.openDatabase(settings)).copy(),
    view: ({ database, project, rows, wasThere }: Awaited<ReturnType<DatabaseAdmin['copy']>>) => [
      wasThere
        ? `The database already has everything, as project ${project}: ${rows} rows. Nothing was written.`
        : `Copied ${rows} rows into ${database} as project ${project}, and compared them.`,
    ],
    details: [
      'Copies all rows, the configuration and the API keys of the data directory into the configured database, which must have no project yet. Reads the copy back and compares it. Running it again changes nothing.',
      'First stop every process that uses the directory. From then on use the database. Private keys stay in the directory. Writes start when all earlier transactions have expired.',
      'For a backup use `VACUUM INTO` on store.db, or `pg_dump` on the database.',
    ],
    output: [
      '{ "database", "project", "rows", "tables": [ { "name", "rows", "sha256" } ], "wasThere": boolean }',
    ],
    examples: ['flywheel db copy --data-dir ~/.local/share/flywheel --database-url-file database-url'],
  }),
  migrate: defineCommand({
    configure: (command) => command.option('--dry-run', 'show the changes, make none'),
    run: async ({ context, settings }, _args, { dryRun = false }) => ({
      ...(await (await context.openDatabase(settings)).migrate({ isDryRun: dryRun })),
      dryRun,
    }),
    view: ({ database, from, to, applied, dryRun }, style) => {
      const change = `from schema version ${from} to ${to}: ${applied.join(', ')}.`;
      if (applied.length === 0) return [style.good(`${database} already has schema version ${to}.`)];
      return [
        dryRun ? `${database} would be upgraded ${change}` : style.good(`${database} was upgraded ${change}`),
      ];
    },
    details: [
      'Several processes may run this at once; one does the work. Servers of an older version then answer 503 until you replace them.',
      '`serve` and `register` upgrade the schema by themselves.',
    ],
    output: ['{ "database", "from": version, "to": version, "applied": [ name ], "dryRun": true|false }'],
    examples: ['flywheel db migrate --dry-run', 'flywheel db migrate'],
  }),
  check: defineCommand({
    configure: (command) => command.option('--chain', 'also compare burns and supplies with the chain'),
    run: async ({ context, settings }, _args, { chain = false }) => {
      const checks = await (await context.openDatabase(settings)).check({ onChain: chain });
      return { ok: checks.every((one) => one.ok), checks };
    },
    view: ({ checks }, style, { settings }) =>
      checks.flatMap(({ name, ok, detail }) => [
        `${ok ? style.good('ok  ') : style.bad('fail')} ${name}: ${detail}`,
        ...(ok || !name.startsWith(KNOWN_CHECK) ? [] : [`     ${commandLine(settings, 'db', 'accept-gap')}`]),
      ]),
    exit: ({ ok }) => (ok ? EXIT.done : EXIT.unsafe),
    details: [
      'Checks the configured database, or the store of the data directory. A server may keep running.',
      'Reads every row (slow on a large database) and changes nothing.',
      '--chain also looks up the newest burns of each project, compares the supply with all burns, and lists on-chain',
      'transactions that the store lacks.',
      `Exits with ${EXIT.unsafe} if a check fails.`,
    ],
    output: ['{ "ok": true|false, "checks": [ { "name", "ok", "detail" } ] }'],
    examples: ['flywheel db check --data-dir restored', 'flywheel db check --chain --json'],
  }),
  'accept-gap': defineCommand({
    configure: gapOptions,
    run: acceptGap,
    view: ({ gap }, style) => [
      gap === null
        ? 'Nothing is missing: the store has every on-chain transaction.'
        : style.good(`Accepted: ${burnsText(gap)} without a record. Writes are possible again.`),
    ],
    details: [
      'flywheel stores every transaction before sending it. If the store lacks an on-chain transaction of the project, an older copy of the store was restored, or another program signs with the same keys.',
      'Accepting counts the lost burns and airdrops against the daily caps, writes an audit log entry, and resumes the pending requests of the restored copy. Lost proofs, API keys and idempotency keys do not come back. A lost request that is sent again burns again.',
      'On the embedded ledger, use this command when store.db is older than ledger.db.',
    ],
    output: [
      '{ "accepted": boolean, "gap": null | { "project", "symbol", "burns", "transactions", "burned", "airdropped", "dateFound", "lost": [ { "txHash", "burned", "airdropped", "memo", "date" } ] } }',
      'amounts in whole tokens; accepted is false if nothing is missing',
    ],
    examples: ['flywheel db accept-gap', 'flywheel db accept-gap --project fly --yes --expect 12'],
  }),
};
