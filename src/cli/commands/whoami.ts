/** `flywheel whoami`: the settings in force and where each comes from; nothing is asked over the network. */
import type { Command } from '@commander-js/extra-typings';
import type { DataChain } from '../../contract/admin.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { Secret } from '../../values/secret.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import type { Setting, Settings } from '../config/settings.js';
import { solanaCliSetting } from '../config/solana-config.js';
import { fieldLines } from '../output/table.js';
import { limitFields } from '../views/profile.js';

interface Row {
  readonly value: string | number | null;
  readonly source: Setting<unknown>['source'];
}

/** A program by its command; of a keypair only that it is there. */
const keeper = ({ value, source }: Settings['signers']['operator']): Row => ({
  value: value === null ? null : 'command' in value ? value.command : 'a keypair',
  source,
});

/** Each setting with its source; of the key only that it is there. */
function describe(settings: Settings): Readonly<Record<string, Row>> {
  const { apiKey, ...rest } = settings;
  const plain = (setting: Setting<string | number | null>): Row => ({
    value: setting.value,
    source: setting.source,
  });
  return {
    target: { value: settings.apiUrl.value === null ? 'embedded' : 'remote', source: settings.apiUrl.source },
    profile: plain(rest.profile),
    apiUrl: plain(rest.apiUrl),
    apiKeyHeader: plain(rest.apiKeyHeader),
    apiKey: { value: apiKey.value === null ? null : 'set', source: apiKey.source },
    configDir: plain(rest.configDir),
    dataDir: plain(rest.dataDir),
    rpcUrl: {
      value: rest.rpcUrl.value.length === 0 ? null : rest.rpcUrl.value.join(', '),
      source: rest.rpcUrl.source,
    },
    rpcQuorum: plain(rest.rpcQuorum),
    maxPriorityFee: plain(rest.maxPriorityFee),
    commitment: plain(rest.commitment),
    blockEngine: { value: rest.blockEngine.value?.shown ?? null, source: rest.blockEngine.source },
    maxTip: plain(rest.maxTip),
    tipFloor: { value: rest.tipFloor.value.shown, source: rest.tipFloor.source },
    keypair: {
      value: rest.keypair.value instanceof Secret ? 'a key, not a file' : rest.keypair.value,
      source: rest.keypair.source,
    },
    multisig: { value: rest.pinned.value?.multisig ?? null, source: rest.pinned.source },
    mint: { value: rest.pinned.value?.mint ?? null, source: rest.pinned.source },
    pinnedOwner: { value: rest.pinned.value?.owner ?? null, source: rest.pinned.source },
    operatorSigner: keeper(rest.signers.operator),
    burnSigner: keeper(rest.signers.burnWallet),
    timeoutSeconds: plain(rest.timeoutSeconds),
    waitSeconds: plain(rest.waitSeconds),
    maxWaitSeconds: plain(rest.maxWaitSeconds),
  };
}

/** The settings with the keypair that a command would take: where nobody names one, that of the Solana CLI. */
function withKeypair(settings: Settings, home: string): Settings {
  if (settings.keypair.value !== null) return settings;
  const path = solanaCliSetting(home, 'keypair_path');
  return path === undefined ? settings : { ...settings, keypair: { value: path, source: 'solana config' } };
}

/** Whose keypair it is; why that cannot be told is no failure of a command that only looks. */
async function ownerOf(
  { context }: Session,
  { keypair }: Settings,
): Promise<Row & { readonly problem?: string }> {
  const { value, source } = keypair;
  if (value === null) return { value: null, source };
  try {
    const { keypairOwner } = await import('../wallet/load-keypair.js');
    return { value: await keypairOwner(context, value), source };
  } catch (error) {
    if (!isFlywheelError(error)) throw error;
    return { value: null, source, problem: error.message };
  }
}

/** Where the flywheel is, as far as the data directory says. */
const chainText = (chain: DataChain | null): string => {
  if (chain === null) return 'not known';
  const { kind, name, genesisHash } = chain;
  const where = kind === 'ledger' ? 'the embedded ledger' : (name ?? 'a cluster of its own');
  return `${where}, genesis ${genesisHash ?? 'not made yet'}`;
};

async function run(session: Session, _args: [], { check }: OptionsOf<typeof configure>): Promise<undefined> {
  const { context } = session;
  const settings = withKeypair(await context.effectiveSettings(session.settings), context.home);
  const rows = describe(settings);
  const { limits } = settings;
  const owner = await ownerOf(session, settings);
  const chain = await context.dataChain(settings);
  const key = check === true ? await (await session.service()).describeKey() : null;
  const value = { ...rows, owner, chain, ...(check === true ? { key } : {}), limits };
  session.output.result(value, (style) =>
    fieldLines(
      [
        ...Object.entries({ ...rows, owner }).map(
          ([name, { value, source }]) => [name, `${value ?? 'none'} (${source})`] as const,
        ),
        ...(owner.problem === undefined ? [] : [['', owner.problem] as const]),
        ['chain', chainText(chain)],
        ...(check !== true
          ? []
          : [
              [
                'key',
                key === null ? 'this API does not say' : `${key.id} (${key.scopes.join(', ')})`,
              ] as const,
            ]),
        ...limits.flatMap(({ value, source }) =>
          limitFields(value).map(([name, limit]) => [name, `${limit} (${source})`] as const),
        ),
      ],
      style,
    ),
  );
  return undefined;
}

const configure = (command: Command) =>
  command.option('--check', 'ask the service which key it is, with its scopes');

export const command = defineCommand({
  configure,
  run,
  details: [
    'The API key itself is never shown. Nothing is asked over the network without --check.',
    'The keypair is the one that a command would take, with its address; of an encrypted one nothing is opened.',
  ],
  output: [
    '{ "target": { "value": "embedded"|"remote", "source" }, "profile", "apiUrl", "apiKey", "dataDir", …,',
    '  "owner": { "value": address|null, "source", "problem"? }, "chain": { "kind": "ledger"|"cluster", "name", "genesisHash" }|null,',
    '  "key"?: { "id", "scopes" }|null, "limits": [ { "value": { "batchTokens"?, … }, "source" } ] }',
  ],
  errors: ['ERR_CONFIG_INVALID', 'ERR_UNAUTHORIZED'],
  examples: ['flywheel whoami', 'flywheel whoami --check', 'flywheel whoami --profile staging --json'],
});
