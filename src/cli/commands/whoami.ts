/** `flywheel whoami`: the effective settings and their sources. Makes network requests only with `--check`. */
import type { Command } from '@commander-js/extra-typings';
import type { Pins } from '../../approval/pins.js';
import type { DataChain } from '../../compose/place.js';
import type { Setting, Settings } from '../../compose/settings.js';
import type { AnswerOf } from '../../contract/service.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { Secret } from '../../values/secret.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { solanaCliSetting } from '../config/paths.js';
import { SETTING_ROWS } from '../config/settings-table.js';
import { OwnerKeypair } from '../load-keypair.js';
import { type Field, fieldLines } from '../output/table.js';
import { callWith, isNotOffered } from '../send.js';
import { limitFields, words } from '../views/project.js';

interface Row {
  readonly value: string | number | null;
  readonly source: Setting<unknown>['source'];
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

function describe(settings: Settings): Readonly<Record<string, Row>> {
  const { signers, keypair, database: _, databasePool: __, project: ___, ...rest } = settings;
  const named: Readonly<Record<string, unknown>> = {
    ...rest,
    ...{ operatorSigner: signers.operator, burnSigner: signers.burnWallet },
    keypair: keypair.value instanceof Secret ? { ...keypair, value: 'a key, not a file' } : keypair,
  };
  const isSetting = (value: unknown): value is Setting<unknown> =>
    typeof value === 'object' && value !== null && 'source' in value;
  const rows = Object.keys(SETTING_ROWS).flatMap((name): readonly (readonly [string, Row])[] => {
    const setting = named[name];
    return isSetting(setting) ? [[name, { value: shown(setting.value), source: setting.source }]] : [];
  });
  const target = settings.apiUrl.value === null ? 'embedded' : 'remote';
  return { target: { value: target, source: settings.apiUrl.source }, ...Object.fromEntries(rows) };
}

async function rowOf(source: Row['source'], tell: () => Row['value'] | Promise<Row['value']>): Promise<Row> {
  try {
    return { value: await tell(), source };
  } catch (error) {
    if (!isFlywheelError(error)) throw error;
    return { value: null, source, problem: error.message };
  }
}

/** The database and the selected project. Nothing is requested from the database. */
async function databaseRows(settings: Settings): Promise<Readonly<Record<string, Row>>> {
  const { value, source } = settings.database;
  if (value === null) return {};
  const { databasePool, project } = settings;
  return { database: await rowOf(source, () => `${value.shown} by ${value.name}`), databasePool, project };
}

const chainText = (chain: DataChain | null): string => {
  if (chain === null) return 'not known';
  const { kind, name, genesisHash } = chain;
  const where = kind === 'ledger' ? 'the embedded ledger' : (name ?? 'a cluster of its own');
  return `${where}, genesis ${genesisHash ?? 'not created yet'}`;
};

/** The effective pins. Those of the data directory replace the profile's, unless `--pins` or a database is given. */
async function pinsOf({ context }: Session, settings: Settings): Promise<Readonly<Record<string, Row>>> {
  let { value: pins, source }: Setting<Pick<Pins, 'multisig' | 'mint' | 'owner'> | null> = settings.pinned;
  let problem: string | undefined;
  if (source !== 'flag' && settings.database.value === null)
    try {
      const here = await context.dataPins(settings);
      if (here !== null) [pins, source] = [here, 'data directory'];
    } catch (error) {
      if (!isFlywheelError(error)) throw error;
      [pins, source, problem] = [null, 'data directory', error.message];
    }
  return {
    multisig: { value: pins?.multisig ?? null, source, ...(problem === undefined ? {} : { problem }) },
    mint: { value: pins?.mint ?? null, source },
    pinnedOwner: { value: pins?.owner ?? null, source },
  };
}

/** @returns `null` if the service does not offer this request */
async function askForKey(session: Session): Promise<AnswerOf<'describeKey'> | null> {
  const opened = await session.service();
  try {
    return (await opened.service.describeKey(callWith(session, opened))).value;
  } catch (error) {
    if (isNotOffered(error)) return null;
    throw error;
  }
}

function keyText(key: AnswerOf<'describeKey'> | null): string {
  if (key === null) return 'unknown: the service cannot be asked';
  const types = key.proofTypes === null ? 'all proof types' : key.proofTypes.join(', ');
  return `${key.name === null ? '' : `${key.name}, `}${key.id} (${key.scopes.join(', ')}; ${types}), for ${key.symbol} ${key.mintAddress}`;
}

async function run(session: Session, _args: [], { check }: OptionsOf<typeof configure>): Promise<void> {
  const { context } = session;
  const settings = await context.effectiveSettings(session.settings);
  const path = solanaCliSetting(context.home, 'keypair_path');
  // Commands use the Solana CLI's keypair if no setting names one.
  const { value: keypair, source }: Settings['keypair'] =
    settings.keypair.value === null && path !== undefined
      ? { value: path, source: 'solana config' }
      : settings.keypair;
  const rows = {
    ...describe({ ...settings, keypair: { value: keypair, source } }),
    ...(await pinsOf(session, settings)),
    ...(await databaseRows(settings)),
  };
  const { limits } = settings;
  const owner = await rowOf(source, () =>
    keypair === null ? null : new OwnerKeypair(context, keypair).address(),
  );
  const isAsked = settings.database.value === null || check === true;
  const chain = isAsked ? await context.dataChain(settings) : null;
  const key = check === true ? await askForKey(session) : null;
  const value = { ...rows, owner, chain, ...(check === true ? { key } : {}), limits };
  session.output.result(value, (style) =>
    fieldLines(
      [
        ['key', check === true ? keyText(key) : null],
        ['chain', isAsked ? chainText(chain) : 'unknown without --check'],
        ...Object.entries({ ...rows, owner }).flatMap(([name, { value, source, problem }]) => [
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
