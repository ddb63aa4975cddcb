/** `flywheel profile add`: settings of one API under a name, or changes of them; its key comes from standard input. */
import type { Command } from '@commander-js/extra-typings';
import type { Pins } from '../../../approval/pins.js';
import { type NodeAddress, nodeAddress, requireQuorum } from '../../../chain/node-address.js';
import type { Setting, Settings } from '../../../compose/settings.js';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { type Address, isAddress } from '../../../values/address.js';
import { DatabaseAddress } from '../../../values/database-address.js';
import { Secret } from '../../../values/secret.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { longFlag } from '../../config/find-setting.js';
import { type Profile, readProfiles } from '../../config/profile-file.js';
import { rpcUrlsOf } from '../../config/resolve-rpc.js';
import { SETTING_ROWS, type SettingName } from '../../config/settings-table.js';
import { integerOption } from '../../options/amounts.js';
import { changedLimits, limitOptions, readLimitChanges } from '../../options/limits.js';
import { parseProfileName } from '../../options/names.js';
import { viewProfile } from '../../views/profile.js';
import { typedPath } from '../../wallet/keypair-source.js';

/** Longest API key in bytes. */
const MAX_KEY_BYTES = 4_096;

const configure = (command: Command) =>
  limitOptions(command)
    .argument('<name>', 'name of the profile')
    .option('--update', 'change an existing profile; other values stay')
    .option('--api-key-stdin', 'read the API key from standard input')
    .option('--keypair <file>', "the owner's keypair file")
    .option('--multisig <address>', 'pin the multisig of the project')
    .option('--owner <address>', 'pin its owner')
    .option('--operator <address>', 'pin its operator')
    .option('--mint <address>', 'pin its mint')
    .option('--vault-index <n>', 'index of its vault (default: 0)');

type Options = OptionsOf<typeof configure>;

async function run(session: Session, [given]: [string], options: Options): Promise<undefined> {
  const name = parseProfileName(given);
  const changes = parseChanges(session, options);
  checkQuorum(session, name, changes);
  const limits = await readLimitChanges(session, options);
  const hasLimits = Object.keys(limits).length > 0;
  const withChanges = (before: Profile): Profile => ({
    ...changes,
    ...(hasLimits ? { limits: changedLimits(before.limits ?? {}, limits) } : {}),
  });
  const key = options.apiKeyStdin === true ? await readKey(session) : null;
  const { saveProfile } = await import('../../config/profile-store.js');
  const { configDir } = session.settings;
  await saveProfile(configDir.value, name, { changes: withChanges, key, isNew: options.update !== true });
  const { profileView } = await import('../../config/profile-views.js');
  const saved = profileView(session, name);
  session.output.result(saved, (style) => viewProfile(saved, style));
  return undefined;
}

/** The global options that a profile keeps, by their settings. */
const KEPT = (Object.keys(SETTING_ROWS) as SettingName[]).filter(
  (name) => SETTING_ROWS[name].flags !== undefined && SETTING_ROWS[name].profile !== undefined,
);

/** A setting as a profile keeps it; `undefined` for what it does not keep, such as a keypair. */
function kept(value: unknown): unknown {
  if (value instanceof DatabaseAddress) return value.file ?? undefined;
  if (Array.isArray(value)) {
    const texts = value.map(({ given }: NodeAddress) => given);
    return texts.length === 1 ? texts[0] : texts;
  }
  if (typeof value === 'object') return value !== null && 'command' in value ? value.command : undefined;
  return value;
}

/** What was typed of them, checked by now. */
function typedFields(settings: Settings): Profile {
  const { database: databaseUrlFile, signers } = settings;
  const others: Readonly<Record<string, Setting<unknown>>> = {
    ...{ databaseUrlFile, operatorSigner: signers.operator, burnSigner: signers.burnWallet },
  };
  const fields = KEPT.flatMap((name) => {
    const { value, source } = others[name] ?? (settings[name as keyof Settings] as Setting<unknown>);
    const field = source === 'flag' ? kept(value) : undefined;
    return field === undefined ? [] : [[SETTING_ROWS[name].profile, field]];
  });
  return Object.fromEntries(fields);
}

/** Fields from the global options as well as from the command's own; only what was typed is stored. */
function parseChanges({ settings }: Session, options: Options): Profile {
  const { keypair } = options;
  const pinned = parsePinned(options);
  return {
    ...typedFields(settings),
    ...(keypair === undefined ? {} : { keypair: typedPath(keypair, '--keypair') }),
    ...(pinned === undefined ? {} : { pinned }),
  };
}

/** Nodes and quorum of the profile as it will be have to fit. @throws `ERR_USAGE` */
function checkQuorum({ settings }: Session, name: string, changes: Profile): void {
  if (changes.rpcUrl === undefined && changes.rpcQuorum === undefined) return;
  const { profiles } = readProfiles(settings.configDir.value);
  const profile = { ...(Object.hasOwn(profiles, name) ? profiles[name] : {}), ...changes };
  const nodes = rpcUrlsOf(profile).map((text) => nodeAddress(text, 'rpcUrl of the profile'));
  requireQuorum(nodes, { value: profile.rpcQuorum ?? 1, source: 'flag' });
}

function parsePinned({ multisig, owner, operator, mint, vaultIndex }: Options): Pins | undefined {
  if ([multisig, owner, operator, mint].every((pin) => pin === undefined)) return undefined;
  if (multisig === undefined || owner === undefined || operator === undefined || mint === undefined)
    throw new FlywheelError('ERR_USAGE', 'Pins need all of --multisig, --owner, --operator and --mint.');
  const pin = (flag: string, text: string): Address => {
    if (isAddress(text)) return text;
    throw new FlywheelError('ERR_INPUT_INVALID', `--${flag}: expected a base58 address of 32 bytes.`);
  };
  return {
    multisig: pin('multisig', multisig),
    owner: pin('owner', owner),
    operator: pin('operator', operator),
    mint: pin('mint', mint),
    vaultIndex: integerOption('--vault-index', vaultIndex, {
      least: 0,
      most: 255,
      fallback: 0,
    }),
  };
}

async function readKey({ context }: Session): Promise<Secret> {
  const key = Buffer.from(await context.io.stdin.read(MAX_KEY_BYTES))
    .toString('utf8')
    .trim();
  if (/^[\x21-\x7e]+$/.test(key)) return new Secret(key);
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    'Standard input: expected an API key on one line, in visible ASCII characters.',
  );
}

export const command = defineCommand({
  configure,
  run,
  details: [
    `The profile also stores these global options: ${KEPT.map((name) => longFlag(SETTING_ROWS[name].flags ?? '')).join(', ')}.`,
    'The API key is stored in a separate file that only you can read. It is never taken from the command line.',
    'A batch over a limit is never signed, not even with --yes. `none` removes a limit. The daily limit counts approvals of this machine, executed or not.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: [
    '{ "name", "current", "hasApiKey", "apiUrl"?, "apiKeyHeader"?, "dataDir"?, "databaseUrl"?, "databaseUrlFile"?, "project"?, "rpcUrl"?, "rpcQuorum"?, "maxPriorityFee"?, "commitment"?, "keypair"?, "operatorSigner"?, "burnSigner"?, "pinned"?, "limits"? }',
  ],
  examples: [
    'flywheel profile add staging --api-url https://api.example.com --api-key-stdin < key.txt',
    'flywheel profile add staging --update --batch-tokens 50000 --day-tokens 200000 --digest-above 10000',
    'flywheel profile add staging --update --day-tokens none --recipients @recipients.txt',
  ],
});
