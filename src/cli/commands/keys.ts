/** `flywheel keys`, `caps` and `audit`: who may do how much with a project, and who changed that. */
import type { ApiKeyCreated, ApiKeyInfo, AuditAct, Caps } from '../../contract/admin.js';
import { defineCommand } from '../command.js';
import { timesQuery } from '../lists.js';
import { commandLine } from '../operation/resume-line.js';
import {
  collect,
  decimalOption,
  durationOption,
  integerOption,
  proofTypes,
  SCOPE_OPTION,
  scopesOrAll,
} from '../options.js';
import type { Style } from '../output/color.js';
import type { Csv } from '../output/csv.js';
import { safeLine } from '../output/safe-text.js';
import { fieldLines, tableLines } from '../output/table.js';
import { capFields, keyFields } from '../views/project.js';

/** A key that was just made; it is kept nowhere, only its digest. */
const viewCreatedKey = (key: ApiKeyCreated, style: Style): readonly string[] => [
  style.good('Created an API key. It is shown only now:'),
  `  ${key.key}`,
  ...fieldLines(keyFields(key), style),
];

/** A key by its name and id. */
const keyName = ({ id, name }: { readonly id: string; readonly name: string | null }): string =>
  name === null ? id : `${safeLine(name)} (${id})`;

/** All keys. */
const viewKeys = (keys: readonly ApiKeyInfo[], style: Style): readonly string[] =>
  keys.length === 0
    ? ['No API keys found.']
    : tableLines(
        [
          { title: 'id' },
          { title: 'name' },
          { title: 'scopes' },
          { title: 'proof types' },
          { title: 'created' },
          { title: 'ends' },
          { title: 'revoked' },
        ],
        keys.map((key) => [
          key.id,
          `${key.name ?? ''}${key.isInUse ? ' (used on this machine)' : ''}`.trim(),
          key.scopes.join(', '),
          key.proofTypes?.join(', ') ?? 'all',
          key.dateCreated,
          key.dateExpires ?? 'never',
          key.dateRevoked ?? 'no',
        ]),
        style.width,
      );

const KEYS_CSV: Csv<ApiKeyInfo> = {
  id: (key) => key.id,
  name: (key) => key.name,
  'in use here': (key) => key.isInUse,
  scopes: (key) => key.scopes.join(' '),
  'proof types': (key) => key.proofTypes?.join(' '),
  created: (key) => key.dateCreated,
  ends: (key) => key.dateExpires,
  revoked: (key) => key.dateRevoked,
};

const viewAudit = (acts: readonly AuditAct[], style: Style): readonly string[] =>
  acts.length === 0
    ? ['The audit log is empty.']
    : tableLines(
        [{ title: 'date' }, { title: 'who' }, { title: 'what' }, { title: 'project' }, { title: 'subject' }],
        acts.map(({ date, actor, action, project, subject, detail }) => [
          date,
          actor,
          action,
          project ?? 'all',
          // Of a key its name is what people know.
          [subject, typeof detail['name'] === 'string' ? `(${detail['name']})` : null]
            .filter(Boolean)
            .join(' '),
        ]),
        style.width,
      );

const AUDIT_LIMIT = { least: 1, most: 1_000_000, fallback: 100 };
const AUDIT_CSV: Csv<AuditAct> = {
  date: (act) => act.date,
  who: (act) => act.actor,
  what: (act) => act.action,
  project: (act) => act.project,
  subject: (act) => act.subject,
  detail: (act) => JSON.stringify(act.detail),
};

/** `null` takes the cap away; `undefined` leaves it. @throws `ERR_INPUT_INVALID` */
const capOption = (flag: string, text: string | undefined): string | null | undefined =>
  text === 'none' ? null : decimalOption(flag, text, undefined);

export const commands = {
  list: defineCommand({
    run: async (session) => {
      const keys = await (await session.local()).listKeys();
      await session.output.list(keys, KEYS_CSV, (style) => viewKeys(keys, style));
    },
    output: [
      '[ { "id", "name", "isInUse", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires" } ]',
    ],
    csv: KEYS_CSV,
    examples: ['flywheel keys list'],
  }),
  create: defineCommand({
    configure: (command) =>
      command
        .option('--name <name>', 'what to call the key, such as "cron on web-1"')
        .addOption(SCOPE_OPTION)
        .option('--proof-type <type>', 'proof type that the key may use (repeatable; default: all)', collect),
    run: async (session, _args, { name = null, scope, proofType }) => {
      const key = await (await session.local()).createKey({
        name,
        scopes: scopesOrAll(scope),
        proofTypes: proofTypes(proofType, null),
      });
      session.output.result(key, (style) => viewCreatedKey(key, style));
    },
    output: ['{ "id", "key", "name", "scopes" }'],
    examples: ['flywheel keys create --name "cron on web-1" --scope burn --proof-type WATCH_AD'],
  }),
  revoke: defineCommand({
    configure: (command) =>
      command
        .argument('<id>', 'id of the key, from `flywheel keys list`')
        .option('--after <time>', 'keep the key valid for 30min, 24h, 7d (default: 0)'),
    run: async (session, [id], { after }) => {
      const afterMs = durationOption('--after', after, 0);
      const key = await (await session.local()).revokeKey(id, afterMs);
      const end = key.dateRevoked === null ? `from ${key.dateExpires} on` : 'from now on';
      if (key.isInUse)
        session.output.warn(
          `This is the key that commands on this machine use. They are refused ${end}. Make another with \`${commandLine(session.settings, 'keys', 'create')}\`, then set FLYWHEEL_API_KEY to it.`,
        );
      session.output.result(key, (style) => [
        style.good(
          key.dateRevoked === null
            ? `${keyName(key)} is valid until ${key.dateExpires}.`
            : `Revoked ${keyName(key)} (${key.dateRevoked}).`,
        ),
      ]);
    },
    details: [
      'To replace a key, create another with the same scopes (`flywheel keys create`), hand it out, and revoke the old one with --after. Idempotency keys belong to the project: the new key resumes and repeats requests that the old key started.',
      'Commands on this machine use the file api-key in the data directory, unless FLYWHEEL_API_KEY is set.',
    ],
    output: [
      '{ "id", "name", "isInUse", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires" }',
    ],
    examples: [
      'flywheel keys revoke 0193c1a4-5f1e-4c55-9c07-7d2e2f6c8a10',
      'flywheel keys revoke 0193c1a4-5f1e-4c55-9c07-7d2e2f6c8a10 --after 24h',
    ],
  }),
  caps: defineCommand({
    configure: (command) =>
      command
        .option('--burn <n>', 'most tokens burned in a UTC day from now on, or none for no cap')
        .option('--airdrop <n>', 'most tokens airdropped in a UTC day from now on, or none for no cap'),
    run: async (session, _args, options) => {
      const changes = {
        burn: capOption('--burn', options.burn),
        airdrop: capOption('--airdrop', options.airdrop),
      };
      const isChange = changes.burn !== undefined || changes.airdrop !== undefined;
      const local = await session.local();
      const caps: Caps = isChange ? await local.setCaps(changes) : await local.caps();
      session.output.result(caps, (style) => fieldLines(capFields(caps, null), style));
    },
    details: [
      'A burn or a batch that would pass a cap is refused. A cap that is lowered undoes nothing: what was accepted before keeps its room. Each change is in `flywheel audit`.',
    ],
    output: [
      '{ "day", "burn": { "used", "cap": amount|null, "left": amount|null }, "airdrop": { "used", "cap", "left" } }',
    ],
    examples: ['flywheel caps', 'flywheel caps --burn 5000', 'flywheel caps --burn 10000 --airdrop none'],
  }),
  audit: defineCommand({
    configure: (command) =>
      command
        .option('--since <time>', 'only entries at this time or later: 24h, yesterday, ISO 8601')
        .option('--until <time>', 'only entries before this time')
        .option('--limit <n>', `most entries to print (default: ${AUDIT_LIMIT.fallback})`),
    run: async (session, _args, options) => {
      const times = timesQuery(session, options);
      const limit = integerOption('--limit', options.limit, AUDIT_LIMIT);
      const acts = await (await session.local()).audit({ ...times, limit });
      await session.output.list(acts, AUDIT_CSV, (style) => viewAudit(acts, style));
    },
    details: [
      'Registrations, key changes, copies, migrations and accepted gaps are logged in the same transaction. The database refuses to change or delete an entry. The log holds no secrets.',
    ],
    output: ['[ { "date", "actor", "action", "project", "subject", "detail" } ]'],
    csv: AUDIT_CSV,
    examples: ['flywheel audit', 'flywheel audit --since 2026-01-01 --output csv > audit.csv'],
  }),
};
