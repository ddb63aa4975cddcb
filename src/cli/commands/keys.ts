/** `flywheel keys`, `caps` and `audit`: API keys, daily caps, and the log of administrative changes. */

import type { ApiKeyCreated, KeyTerms } from '../../contract/admin.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { grouped } from '../../values/token-amount.js';
import { defineCommand } from '../command.js';
import { requireConsent } from '../consent.js';
import type { Answer } from '../context.js';
import { newKeyHint } from '../hints.js';
import { timesQuery } from '../lists.js';
import { decimalOrNone, duration, integer, proofTypes, SCOPE_OPTION, scopesOrAll } from '../options.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Columns, fieldLines, tableLines } from '../output/table.js';
import { capFields, keyFields } from '../views/project.js';
import { tokensText } from '../views/unit.js';

const keyName = ({ id, name }: { readonly id: string; readonly name: string | null }): string =>
  name === null ? id : `${safeLine(name)} (${id})`;

/** @throws `ERR_NOT_FOUND`, also for a name of several keys that are valid */
function keyNamed(keys: readonly Answer<'listKeys'>[number][], named: string): Answer<'listKeys'>[number] {
  const found = keys.filter(({ id, name }) => id === named || name === named);
  const valid = found.filter(({ dateRevoked }) => dateRevoked === null);
  const [key] = [...valid, ...found];
  if (key !== undefined && valid.length <= 1) return key;
  const count = valid.length === 0 ? 'No API key' : `${valid.length} API keys`;
  throw new FlywheelError('ERR_NOT_FOUND', `${count} named ${JSON.stringify(named)}. Nothing was revoked.`, {
    hint: 'List the keys with their ids: `flywheel keys list`',
  });
}

const KEYS_CSV: Columns<Answer<'listKeys'>[number]> = {
  ...({ id: 'id', name: 'name', 'in use here': 'isInUse' } as const),
  scopes: (key) => key.scopes.join(' '),
  'proof types': (key) => key.proofTypes?.join(' '),
  ...({ created: 'dateCreated', ends: 'dateExpires', revoked: 'dateRevoked' } as const),
};

function viewKeys(keys: readonly Answer<'listKeys'>[number][], { width }: Style): readonly string[] {
  if (keys.length === 0) return ['No API keys found.'];
  const { 'in use here': _, ...columns } = KEYS_CSV;
  const shown: Columns<Answer<'listKeys'>[number]> = {
    ...columns,
    name: ({ name, isInUse }) => `${name ?? ''}${isInUse ? ' (used on this machine)' : ''}`.trim(),
    scopes: (key) => key.scopes.join(', '),
    'proof types': (key) => key.proofTypes?.join(', ') ?? 'all',
    ends: (key) => key.dateExpires ?? 'never',
    revoked: (key) => key.dateRevoked ?? 'no',
  };
  return tableLines(keys, shown, width);
}

const MAX_ACTS = 1_000_000;

const AUDIT_CSV: Columns<Answer<'audit'>[number]> = {
  ...({ date: 'date', who: 'actor', what: 'action', project: 'project', subject: 'subject' } as const),
  detail: (act) => JSON.stringify(act.detail),
};

/** The name of a key, or the caps that were set. */
function detailText({ name, before, after }: Answer<'audit'>[number]['detail']): string {
  if (typeof name === 'string') return `(${name})`;
  if (!isJsonObject(before) || !isJsonObject(after)) return '';
  const text = (cap: unknown): string => (typeof cap === 'string' ? grouped(cap) : 'none');
  return (['burn', 'airdrop'] as const)
    .filter((usage) => before[usage] !== after[usage])
    .map((usage) => `${usage} cap ${text(before[usage])} → ${text(after[usage])}`)
    .join(', ');
}

function viewAudit(acts: readonly Answer<'audit'>[number][], { width }: Style): readonly string[] {
  if (acts.length === 0) return ['The audit log is empty.'];
  const { detail: _, ...columns } = AUDIT_CSV;
  const shown: Columns<Answer<'audit'>[number]> = {
    ...columns,
    project: (act) => act.project ?? 'all',
    subject: ({ subject, detail }) => [subject, detailText(detail)].filter(Boolean).join(' '),
  };
  return tableLines(acts, shown, width);
}

/** With this many fraction digits, decimal texts compare as whole numbers; an option has at most as many characters. */
const FRACTION_DIGITS = 60;

const scaled = (decimal: string): bigint => {
  const [whole = '', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.padEnd(FRACTION_DIGITS, '0'));
};

/** `Raise the daily burn cap from 5,000 to 10,000 FLY?`, for each cap that allows more than before. */
const raisedCaps = (
  caps: Answer<'caps'>,
  asked: { readonly [Usage in 'burn' | 'airdrop']: string | null | undefined },
): readonly string[] =>
  (['burn', 'airdrop'] as const).flatMap((usage) => {
    const { cap } = caps[usage];
    const now = asked[usage];
    if (now === undefined || cap === null || (now !== null && scaled(now) <= scaled(cap))) return [];
    const before = tokensText(cap, caps.symbol);
    return now === null
      ? [
          `Remove the daily ${usage} cap of ${before}? ${usage === 'burn' ? 'Burns' : 'Airdrops'} will have no daily limit.`,
        ]
      : [`Raise the daily ${usage} cap from ${before} to ${tokensText(now, caps.symbol)}?`];
  });

export const commands = {
  list: defineCommand({
    run: async (session) => (await session.local()).listKeys(),
    view: viewKeys,
    output: [
      '[ { "id", "name", "isInUse", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires" } ]',
    ],
    csv: KEYS_CSV,
    examples: ['flywheel keys list'],
  }),
  create: defineCommand({
    configure: (command) =>
      command
        .option('--name <name>', 'name of the key, such as "cron on web-1"')
        .addOption(SCOPE_OPTION)
        .addOption(
          proofTypes('--proof-type <type>', 'proof type that the key may use (repeatable; default: all)'),
        ),
    run: async (session, _args, { name = null, scope, proofType: proofTypes = null }) => ({
      ...(await (await session.local()).createKey({ name, scopes: scopesOrAll(scope), proofTypes })),
      proofTypes,
    }),
    // Only the key's digest is stored.
    view: ({ proofTypes, ...key }: ApiKeyCreated & Pick<KeyTerms, 'proofTypes'>, style) => [
      style.good('Created an API key. This is the only time it is shown:'),
      `  ${key.key}`,
      ...fieldLines([...keyFields(key), ['proof types', proofTypes?.join(', ')]], style),
    ],
    output: ['{ "id", "key", "name", "scopes", "proofTypes"|null }'],
    examples: ['flywheel keys create --name "cron on web-1" --scope burn --proof-type WATCH_AD'],
  }),
  revoke: defineCommand({
    configure: (command) =>
      command
        .argument('<key>', 'id or name of the key, from `flywheel keys list`')
        .addOption(duration('--after <time>', 'keep the key valid for 30min, 24h, 7d').default(0)),
    run: async (session, [named], { after }) => {
      const local = await session.local();
      const key = keyNamed(await local.listKeys(), named);
      if (!key.isInUse || key.dateRevoked !== null) return local.revokeKey(key.id, after);
      const name = keyName(key);
      await requireConsent(session, `Commands on this machine use the API key ${name}. Revoke it?`, {
        otherwise: 'Nothing was revoked.',
      });
      const revoked = await local.revokeKey(key.id, after);
      session.output.warn(`Replace the key of this machine. ${newKeyHint(session.settings)}`);
      return revoked;
    },
    view: (key: Answer<'listKeys'>[number], style) => [
      style.good(
        `API key ${keyName(key)} ${key.dateRevoked === null ? `is valid until ${key.dateExpires}` : `was revoked on ${key.dateRevoked}`}.`,
      ),
    ],
    details: [
      'To replace a key, create another with the same scopes (`flywheel keys create`), hand it out, and revoke the old one with --after. The new key can resume requests of the old one: idempotency keys belong to the project.',
      'Commands on this machine use FLYWHEEL_API_KEY, or else the file api-key in the data directory. Revoking their key asks first; a script needs --yes.',
    ],
    output: [
      '{ "id", "name", "isInUse", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires" }',
    ],
    examples: [
      'flywheel keys revoke "cron on web-1"',
      'flywheel keys revoke 0193c1a4-5f1e-4c55-9c07-7d2e2f6c8a10 --after 24h',
    ],
  }),
  caps: defineCommand({
    configure: (command) =>
      command
        .addOption(decimalOrNone('--burn <n>', 'maximum tokens to burn per UTC day; "none" removes the cap'))
        .addOption(
          decimalOrNone('--airdrop <n>', 'maximum tokens to airdrop per UTC day; "none" removes the cap'),
        ),
    run: async (session, _args, { burn, airdrop }) => {
      const local = await session.local();
      if (burn === undefined && airdrop === undefined) return local.caps();
      const cap = (typed: string | undefined) => (typed === 'none' ? null : typed);
      const asked = { burn: cap(burn), airdrop: cap(airdrop) };
      const raised = raisedCaps(await local.caps(), asked);
      if (raised.length > 0) await requireConsent(session, raised.join(' '));
      return local.setCaps(asked);
    },
    view: (caps: Answer<'caps'>, style) => fieldLines(capFields(caps), style),
    details: [
      'The service refuses a burn or a batch that exceeds a cap. Used or reserved: the amounts that landed today and those of waiting batches, which `flywheel pending` lists. A lower cap does not undo accepted burns and batches. Raising a cap asks first; a script needs --yes. `flywheel audit` shows each change.',
    ],
    output: [
      '{ "day", "symbol", "burn": { "used", "cap": amount|null, "left": amount|null }, "airdrop": { "used", "cap", "left" } }',
    ],
    examples: [
      'flywheel caps',
      'flywheel caps --burn 5000',
      'flywheel caps --burn 10000 --airdrop none --yes',
    ],
  }),
  audit: defineCommand({
    configure: (command) =>
      command
        .option('--since <time>', 'only entries at this time or later: 24h, yesterday, ISO 8601')
        .option('--until <time>', 'only entries before this time')
        .addOption(integer('--limit <n>', 'maximum number of entries (default: 100; csv: all)', 1, MAX_ACTS)),
    run: async (session, _args, { limit = session.output.mode === 'csv' ? MAX_ACTS : 100, ...options }) => {
      const times = timesQuery(session, options);
      return (await session.local()).audit({ ...times, limit });
    },
    view: viewAudit,
    details: [
      'Logs registrations, changes of keys and caps, copies, migrations and accepted gaps, each in the same transaction. The database refuses to change or delete an entry. The log has no secrets.',
    ],
    output: ['[ { "date", "actor", "action", "project", "subject", "detail" } ]'],
    csv: AUDIT_CSV,
    examples: ['flywheel audit', 'flywheel audit --since 2026-01-01 --output csv > audit.csv'],
  }),
};
