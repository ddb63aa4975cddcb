/** `flywheel profile`: named settings of a service (address, API key, pins, limits). */
import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { LIMIT_NAMES } from '../../approval/limits.js';
import type { Pins } from '../../approval/pins.js';
import { isMoniker, NodeAddress, nodeAddress, requireQuorum } from '../../chain/node-address.js';
import type { Setting, Settings } from '../../compose/settings.js';
import { invalidInput, usageError } from '../../errors/flywheel-error.js';
import { typedPath } from '../../files/keypair-file.js';
import { DatabaseAddress, databasePlace } from '../../values/database-address.js';
import { Secret } from '../../values/secret.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { type Profile, readProfileKey, readProfiles, requireProfile } from '../config/profile-file.js';
import { rpcUrlsOf } from '../config/resolve.js';
import { SETTING_ROWS, type SettingName } from '../config/settings-table.js';
import { readInputBytes } from '../input/read-input.js';
import { addressOption, decimalOrNone, integer, longFlag } from '../options.js';
import type { Style } from '../output/color.js';
import { FORCE_OPTION, outputFile, requireFree, writeOutput } from '../output/output-file.js';
import { type Field, fieldLines, tableLines } from '../output/table.js';
import { limitFields, pinnedFields, viewPins, words } from '../views/project.js';

/** @throws `ERR_INPUT_INVALID` */
function parseProfileName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) && name !== '__proto__') return name;
  throw invalidInput(
    'A profile name has 1 to 64 letters, digits, dots, dashes or underscores, and starts with a letter or digit.',
  );
}

interface ProfileView extends Profile {
  readonly name: string;
  readonly current: boolean;
  readonly hasApiKey: boolean;
  readonly file?: string;
}

const viewProfile = (profile: ProfileView, style: Style): readonly string[] => [
  `${style.bold(profile.name)}${profile.current ? ' (current)' : ''}`,
  ...fieldLines(
    [
      ['api', profile.apiUrl ?? 'none: the embedded engine'],
      ...PROFILE_FIELDS.map(
        (name): Field => [words(name), profile[name] && [profile[name]].flat().join(', ')],
      ),
      ['api key', profile.hasApiKey ? 'stored' : 'none'],
      ...(profile.pinned === undefined ? [] : pinnedFields(profile.pinned)),
      ...limitFields(profile.limits ?? {}),
      ['file', profile.file],
    ],
    style,
  ),
];

/** @throws `ERR_CONFIG_INVALID` for an unknown profile, and if no profile is in use */
function profileView({ settings, context }: Session, name: string | null): ProfileView {
  const directory = settings.configDir.value;
  const { current, profiles } = readProfiles(directory);
  const { databaseUrl, ...profile } = requireProfile(profiles, name);
  const [first, ...others] = rpcUrlsOf(profile).map(shownUrl);
  return {
    name: name ?? '',
    current: name === current,
    hasApiKey: readProfileKey(directory, name ?? '', context.platform) !== null,
    ...profile,
    ...(first === undefined ? {} : { rpcUrl: others.length === 0 ? first : [first, ...others] }),
    ...(databaseUrl === undefined ? {} : { databaseUrl: databasePlace(databaseUrl) ?? '***' }),
  };
}

/** A profile edited by hand may hold anything in place of an address, even a key. */
function shownUrl(text: string): string {
  if (isMoniker(text)) return text;
  return URL.canParse(text) ? new NodeAddress(new URL(text), text).shown : '***';
}

const MAX_KEY_BYTES = 4_096;

const addOptions = (command: Command) =>
  command
    .addOption(
      decimalOrNone('--batch-tokens <n>', 'maximum tokens to approve per batch, burns plus airdrops'),
    )
    .addOption(decimalOrNone('--day-tokens <n>', 'maximum tokens to approve per UTC day'))
    .addOption(decimalOrNone('--digest-above <n>', 'ask for the digest if a batch has more tokens'))
    .argument('<name>', 'name of the profile')
    .option('--update', 'change an existing profile, keep other values')
    .option('--api-key-stdin', 'read the API key from standard input')
    .option('--keypair <file>', "the owner's keypair file")
    .option('--multisig <address>', 'pin the multisig of the project')
    .option('--owner <address>', 'pin the owner')
    .option('--operator <address>', 'pin the operator')
    .option('--mint <address>', 'pin the mint')
    .addOption(integer('--vault-index <n>', 'index of the vault', 0, 255).default(0));

type AddOptions = OptionsOf<typeof addOptions>;

/** Absolute, so that the profile works in every directory. */
function keypairPath({ context }: Session, typed: string): string {
  const path = typedPath(typed, '--keypair');
  return path === '-' || path.includes('://') ? path : resolve(context.cwd, path);
}

async function add(session: Session, [given]: [string], options: AddOptions): Promise<ProfileView> {
  const name = parseProfileName(given);
  const { keypair } = options;
  const pinned = parsePinned(options);
  const changes: Profile = {
    ...typedFields(session.settings),
    ...(keypair === undefined ? {} : { keypair: keypairPath(session, keypair) }),
    ...(pinned === undefined ? {} : { pinned }),
  };
  const typed = LIMIT_NAMES.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]));
  const withChanges = (before: Profile): Profile => {
    if (changes.rpcUrl !== undefined || changes.rpcQuorum !== undefined)
      checkQuorum({ ...before, ...changes });
    if (typed.length === 0) return changes;
    const all = Object.entries({ ...before.limits, ...Object.fromEntries(typed) });
    return { ...changes, limits: Object.fromEntries(all.filter(([, limit]) => limit !== 'none')) };
  };
  const key = options.apiKeyStdin === true ? await readKey(session) : null;
  const { saveProfile } = await import('../config/profile-store.js');
  const { configDir } = session.settings;
  const before = readProfiles(configDir.value).current;
  await saveProfile(configDir.value, name, { changes: withChanges, key, isNew: options.update !== true });
  const view = profileView(session, name);
  if (view.current && before !== name)
    session.output.notice(
      `Commands without --profile now use the profile ${name}. To change that: flywheel profile use --none`,
    );
  return view;
}

const KEPT = (Object.keys(SETTING_ROWS) as SettingName[]).filter(
  (name) => SETTING_ROWS[name].flags !== undefined && SETTING_ROWS[name].isInProfile,
);

const PROFILE_FIELDS = Object.entries(SETTING_ROWS).flatMap(([name, { isInProfile }]) =>
  isInProfile && name !== 'apiUrl' ? [name as keyof Omit<Profile, 'pinned' | 'limits'>] : [],
);

/** The value as a profile stores it; `undefined` for a value that is never stored, such as a keypair. */
function kept(value: unknown): unknown {
  if (value instanceof DatabaseAddress) return value.file ?? undefined;
  if (Array.isArray(value)) {
    const texts = value.map(({ given }: NodeAddress) => given);
    return texts.length === 1 ? texts[0] : texts;
  }
  if (typeof value === 'object') return value !== null && 'command' in value ? value.command : undefined;
  return value;
}

function typedFields(settings: Settings): Profile {
  const { database: databaseUrlFile, signers } = settings;
  const others: Readonly<Record<string, Setting<unknown>>> = {
    ...{ databaseUrlFile, operatorSigner: signers.operator, burnSigner: signers.burnWallet },
  };
  const fields = KEPT.flatMap((name) => {
    const { value, source } = others[name] ?? (settings[name as keyof Settings] as Setting<unknown>);
    const field = source === 'flag' ? kept(value) : undefined;
    return field === undefined ? [] : [[name, field]];
  });
  return Object.fromEntries(fields);
}

/** @throws `ERR_USAGE` for fewer nodes than the quorum */
const checkQuorum = (profile: Profile): void =>
  requireQuorum(
    rpcUrlsOf(profile).map((text) => nodeAddress(text, 'rpcUrl of the profile')),
    { value: profile.rpcQuorum ?? 1, source: 'flag' },
  );

function parsePinned({ vaultIndex, ...options }: AddOptions): Pins | undefined {
  const names = ['multisig', 'owner', 'operator', 'mint'] as const;
  if (names.every((name) => options[name] === undefined)) return undefined;
  const pins = names.map((name) => {
    const { [name]: text } = options;
    if (text === undefined) throw usageError('Pins need all of --multisig, --owner, --operator and --mint.');
    return [name, addressOption(`--${name}`, text)];
  });
  return { ...Object.fromEntries(pins), vaultIndex };
}

async function readKey({ context }: Session): Promise<Secret> {
  const key = (await readInputBytes(context, '-', MAX_KEY_BYTES)).toString('utf8').trim();
  if (key.startsWith('['))
    throw invalidInput('Standard input: a keypair is not an API key. Nothing was stored.');
  if (/^[\x21-\x7e]+$/.test(key)) return new Secret(key);
  throw invalidInput('Standard input: expected an API key on one line, in visible ASCII characters.');
}

const pinOptions = (command: Command) =>
  command
    .argument('[name]', 'name of the profile in use, as a safety check')
    .option('--out <file>', 'also write the pins to this file, for --pins')
    .addOption(FORCE_OPTION);

async function pin(
  session: Session,
  [typed]: [string | undefined],
  options: OptionsOf<typeof pinOptions>,
): Promise<Pins> {
  const { settings } = session;
  const [{ confirmPins, keepPins, readPins, requireChain, requirePins }, { driftOf }] = await Promise.all([
    import('../batch/pins.js'),
    import('../../approval/pins.js'),
  ]);
  const name = typed === undefined ? null : parseProfileName(typed);
  if (name !== null && name !== settings.profile.value)
    throw usageError(
      `${settings.profile.value === null ? 'No' : 'Another'} profile is in use. Add --profile ${name}.`,
    );
  const outFile = outputFile(session, '--out', options.out, options);
  if (outFile !== null) requireFree(outFile);
  const opened = await session.service();
  const before = opened.pins;
  const pins = await readPins(requireChain(opened), requirePins(before));
  const drift = before?.facts === undefined ? [] : driftOf(before.facts, pins.facts ?? {});
  for (const { fact, before: was, now } of drift)
    session.output.tell(`Changed: ${fact} was ${was} and is ${now}.`);
  if (!settings.yes) await confirmPins(session, pins);
  else if (settings.profile.value !== null) await keepPins(session, settings.profile.value, pins);
  else if (outFile === null)
    session.output.warn('No profile is in use, so nothing was pinned. Add --profile NAME or --out FILE.');
  if (outFile !== null) writeOutput(outFile, `${JSON.stringify(pins, null, 2)}\n`, { isPublic: true });
  return pins;
}

export const commands = {
  add: defineCommand({
    configure: addOptions,
    run: add,
    view: viewProfile,
    details: [
      `The profile also stores these global options: ${KEPT.map((name) => longFlag(SETTING_ROWS[name].flags ?? '')).join(', ')}.`,
      'The API key is stored in a separate file that only you can read. The command line does not accept it.',
      'flywheel never signs a batch over a limit, not even with --yes. `none` removes a limit. The daily limit counts the approvals of this machine, executed or not.',
    ],
    output: [
      '{ "name", "current", "hasApiKey", "apiUrl"?, "apiKeyHeader"?, "dataDir"?, "databaseUrl"?, "databaseUrlFile"?, "project"?, "rpcUrl"?, "rpcQuorum"?, "maxPriorityFee"?, "commitment"?, "keypair"?, "operatorSigner"?, "burnSigner"?, "pinned"?, "limits"? }',
    ],
    examples: [
      'flywheel profile add staging --api-url https://api.example.com --api-key-stdin < key.txt',
      'flywheel profile add staging --update --batch-tokens 50000 --day-tokens 200000 --digest-above 10000',
    ],
  }),
  list: defineCommand({
    run: async (session) =>
      Object.keys(readProfiles(session.settings.configDir.value).profiles)
        .sort()
        .map((name) => profileView(session, name)),
    view: (profiles, { width }) =>
      profiles.length === 0
        ? ['No profiles found. Add one: `flywheel profile add NAME --api-url URL --api-key-stdin`']
        : tableLines(
            profiles,
            {
              '': ({ current }) => (current ? '*' : ''),
              name: ({ name }) => name,
              api: ({ apiUrl }) => apiUrl ?? 'embedded',
              key: ({ hasApiKey }) => (hasApiKey ? 'stored' : 'none'),
            },
            width,
          ),
    output: ['[ { "name", "current", "hasApiKey", "apiUrl"?, … } ]'],
    examples: ['flywheel profile list'],
  }),
  pin: defineCommand({
    configure: pinOptions,
    run: pin,
    view: viewPins,
    details: [
      'Reads members and rights, threshold, time lock, configuration authority, rent collector, mint and vault account from the chain.',
      'If any of these changes, flywheel refuses approvals until you pin the project again.',
    ],
    output: ['{ "multisig", "owner", "operator", "vaultIndex", "mint", "facts": { name: text } }'],
    examples: ['flywheel profile pin', 'flywheel profile pin --yes --out pins.json'],
  }),
  use: defineCommand({
    configure: (command) =>
      command
        .argument('[name]', 'name of the profile')
        .option('--none', 'use no profile (commands then use the embedded engine)'),
    run: async ({ settings }, [given], { none }) => {
      if ((given === undefined) === (none === undefined))
        throw usageError('Give the name of a profile, or --none.');
      const current = given === undefined ? null : parseProfileName(given);
      const { useProfile } = await import('../config/profile-store.js');
      await useProfile(settings.configDir.value, current);
      return { current };
    },
    view: ({ current }, style) => [
      style.good(
        current === null
          ? 'Commands without --profile now use the data directory.'
          : `The current profile is ${current}.`,
      ),
    ],
    output: ['{ "current": name|null }'],
    examples: ['flywheel profile use staging', 'flywheel profile use --none'],
  }),
  remove: defineCommand({
    configure: (command) => command.argument('<name>', 'name of the profile'),
    run: async ({ settings }, [given]) => {
      const name = parseProfileName(given);
      const { removeProfile } = await import('../config/profile-store.js');
      await removeProfile(settings.configDir.value, name);
      return { removed: name };
    },
    view: ({ removed }, style) => [style.good(`Removed the profile ${removed}.`)],
    output: ['{ "removed": name }'],
    examples: ['flywheel profile remove staging'],
  }),
};
