/** `flywheel whoami`: the effective settings and their sources. Makes network requests only with `--check`. */
import type { Command } from '@commander-js/extra-typings';
import type { DataChain } from '../../compose/place.js';
import type { Setting, Settings, Source } from '../../compose/settings.js';
import type { AnswerOf } from '../../contract/service.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { Secret } from '../../values/secret.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { SETTING_ROWS } from '../config/settings-table.js';
import { OwnerKeypair } from '../load-keypair.js';
import { describeKey } from '../operation/done-there.js';
import { type Field, fieldLines } from '../output/table.js';
import { limitFields, words } from '../views/project.js';

interface Row {
  readonly value: string | number | null;
  readonly source: Source;
  /** Why the value cannot be read. The command still succeeds. */
  readonly problem?: string;
}

/** Of a key, only that it is set. */
function shown(value: unknown): Row['value'] {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (value instanceof Secret) return 'set';
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(', ');
  return typeof value === 'object' && 'command' in value ? String(value.command) : 'a keypair';
}

/** The settings of the table. Nothing is requested from a database. */
async function settingRows(settings: Settings): Promise<Readonly<Record<string, Row>>> {
  const { signers, apiUrl, database, databasePool, project, ...rest } = settings;
  const named = { ...rest, apiUrl, operatorSigner: signers.operator, burnSigner: signers.burnWallet };
  const rows: Record<string, Row> = {
    target: { value: apiUrl.value === null ? 'embedded' : 'remote', source: apiUrl.source },
  };
  for (const name of Object.keys(SETTING_ROWS)) {
    const setting: unknown = named[name as keyof typeof named];
    if (typeof setting !== 'object' || setting === null || !('source' in setting)) continue;
    const { value, source } = setting as Setting<unknown>;
    rows[name] = { value: shown(value), source };
  }
  const { value: address, source } = database;
  if (address === null) return rows;
  const place = await attempt(() => `${address.shown} by ${address.name}`);
  return { ...rows, database: { ...place, source }, databasePool, project };
}

async function attempt<Value>(
  tell: () => Value | Promise<Value>,
): Promise<{ readonly value: Value | null; readonly problem?: string }> {
  try {
    return { value: await tell() };
  } catch (error) {
    if (!isFlywheelError(error)) throw error;
    return { value: null, problem: error.message };
  }
}

const chainText = (chain: DataChain | null): string => {
  if (chain === null) return 'not known';
  const { kind, name, genesisHash } = chain;
  const where = kind === 'ledger' ? 'the embedded ledger' : (name ?? 'a cluster of its own');
  return `${where}, genesis ${genesisHash ?? 'not created yet'}`;
};

/** The effective pins. Those of the data directory replace the profile's, unless `--pins` or a database is given. */
async function pinRows({ context }: Session, settings: Settings): Promise<Readonly<Record<string, Row>>> {
  const { pinned, database } = settings;
  const isReplaced = pinned.source !== 'flag' && database.value === null;
  const own = await attempt(() => (isReplaced ? context.dataPins(settings) : null));
  const isOwn = own.value !== null || own.problem !== undefined;
  const pins = isOwn ? own.value : pinned.value;
  const source = isOwn ? 'data directory' : pinned.source;
  return {
    multisig: { ...own, value: pins?.multisig ?? null, source },
    mint: { value: pins?.mint ?? null, source },
    pinnedOwner: { value: pins?.owner ?? null, source },
  };
}

function keyText(key: AnswerOf<'describeKey'> | null): string {
  if (key === null) return 'unknown: the service cannot be asked';
  const types = key.proofTypes === null ? 'all proof types' : key.proofTypes.join(', ');
  return `${key.name === null ? '' : `${key.name}, `}${key.id} (${key.scopes.join(', ')}; ${types}), for ${key.symbol} ${key.mintAddress}`;
}

async function run(session: Session, _args: [], { check }: OptionsOf<typeof configure>): Promise<void> {
  const { context } = session;
  const settings = await context.effectiveSettings(session.settings);
  const { value: place, source } = settings.keypair;
  const owner = await attempt(() => (place === null ? null : new OwnerKeypair(context, place).address()));
  const rows = {
    ...(await settingRows(settings)),
    ...(await pinRows(session, settings)),
    owner: { ...owner, source },
  };
  const { limits } = settings;
  const isAsked = settings.database.value === null || check === true;
  const chain = isAsked ? await context.dataChain(settings) : null;
  const key = check === true ? await describeKey(session) : null;
  const value = { ...rows, chain, ...(check === true ? { key } : {}), limits };
  session.output.result(value, (style) =>
    fieldLines(
      [
        ['key', check === true ? keyText(key) : null],
        ['chain', isAsked ? chainText(chain) : 'unknown without --check'],
        ...Object.entries<Row>(rows).flatMap(([name, { value, source, problem }]) => [
          [words(name), `${value ?? 'none'} (${source})`] as const,
          ['', problem] as const,
        ]),
        ...limits.flatMap(({ value, source }) =>
          limitFields(value).map(([name, limit]): Field => [name, limit && `${limit} (${source})`]),
        ),
      ],
      style,
    ),
  );
}

const configure = (command: Command) =>
  command.option('--check', 'ask the service for the id and scopes of the API key');

export const commands = {
  whoami: defineCommand({
    configure,
    run,
    details: [
      'Never shows the API key. Makes no network requests without --check.',
      'Shows the keypair that commands would use, with its address.',
    ],
    output: [
      '{ "target": { "value": "embedded"|"remote", "source" }, "profile", "apiUrl", "apiKey", "dataDir", "database"?, "databasePool"?, "project"?, …,',
      '  "owner": { "value": address|null, "source", "problem"? }, "chain": { "kind": "ledger"|"cluster", "name", "genesisHash" }|null,',
      '  "key"?: { "id", "name", "scopes", "proofTypes", "tokenId", "symbol", "mintAddress", "decimals" }|null, "limits": [ { "value": { "batchTokens"?, … }, "source" } ] }',
    ],
    examples: ['flywheel whoami', 'flywheel whoami --check', 'flywheel whoami --profile staging --json'],
  }),
};
