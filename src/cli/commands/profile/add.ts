/** `flywheel profile add`: settings of one API under a name; its key comes from standard input. */
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { isAddress } from '../../../values/address.js';
import { Secret } from '../../../values/secret.js';
import type { CommandSpec, Invocation, Session } from '../../command.js';
import type { Profile } from '../../config/profile-file.js';
import type { PinnedFlywheel } from '../../config/settings.js';
import { integerOption } from '../../options/amounts.js';
import { profileName } from '../../options/profile-name.js';
import { viewProfile } from '../../views/profile.js';
import { typedPath } from '../../wallet/keypair-source.js';

/** Longest API key in bytes. */
const MAX_KEY_BYTES = 4_096;
const PINS = ['multisig', 'owner', 'operator', 'mint'] as const;

async function run(session: Session, invocation: Invocation): Promise<undefined> {
  const name = profileName(invocation, 0);
  const changes = parseChanges(session, invocation);
  const key = invocation.flag('apiKeyStdin') ? await readKey(session) : null;
  const { saveProfile } = await import('../../config/profile-store.js');
  const profile = await saveProfile(session.settings.configDir.value, name, changes, key);
  const { profileViews } = await import('../../config/profile-views.js');
  const saved = profileViews(session).find((view) => view.name === name) ?? {
    ...profile,
    name,
    current: false,
    hasApiKey: false,
  };
  session.output.result(saved, (style) => viewProfile(saved, style));
  return undefined;
}

/** Fields from the global options as well as from the command's own; only what was typed is stored. */
function parseChanges({ settings }: Session, invocation: Invocation): Profile {
  const { apiUrl, apiKeyHeader, dataDir } = settings;
  const rpcUrl = invocation.option('rpcUrl');
  const keypair = invocation.option('keypair');
  const pinned = parsePinned(invocation);
  return {
    ...(apiUrl.source === 'flag' && apiUrl.value !== null ? { apiUrl: apiUrl.value } : {}),
    ...(apiKeyHeader.source === 'flag' ? { apiKeyHeader: apiKeyHeader.value } : {}),
    ...(dataDir.source === 'flag' ? { dataDir: dataDir.value } : {}),
    ...(rpcUrl === undefined ? {} : { rpcUrl }),
    ...(keypair === undefined ? {} : { keypair: typedPath(keypair, '--keypair') }),
    ...(pinned === undefined ? {} : { pinned }),
  };
}

function parsePinned(invocation: Invocation): PinnedFlywheel | undefined {
  const given = PINS.filter((pin) => invocation.option(pin) !== undefined);
  if (given.length === 0) return undefined;
  if (given.length < PINS.length)
    throw new FlywheelError(
      'ERR_USAGE',
      'A flywheel is pinned by all of --multisig, --owner, --operator and --mint.',
    );
  for (const pin of PINS) {
    if (!isAddress(invocation.requiredOption(pin)))
      throw new FlywheelError('ERR_INPUT_INVALID', `--${pin}: expected a base58 address of 32 bytes.`);
  }
  return {
    multisig: invocation.requiredOption('multisig'),
    owner: invocation.requiredOption('owner'),
    operator: invocation.requiredOption('operator'),
    mint: invocation.requiredOption('mint'),
    vaultIndex: integerOption(invocation, 'vaultIndex', '--vault-index', {
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
    'Standard input: expected an API key, visible ASCII characters on one line.',
  );
}

export const command: CommandSpec = {
  arguments: [{ syntax: '<name>', description: 'name of the profile; one that is there is changed' }],
  options: [
    { flags: '--api-key-stdin', description: 'read the API key from standard input' },
    { flags: '--rpc-url <url>', description: 'RPC of your own, with which approvals are checked' },
    { flags: '--keypair <file>', description: "the owner's keypair file" },
    { flags: '--multisig <address>', description: 'pin the multisig of the flywheel' },
    { flags: '--owner <address>', description: 'pin its owner' },
    { flags: '--operator <address>', description: 'pin its operator' },
    { flags: '--mint <address>', description: 'pin its mint' },
    { flags: '--vault-index <n>', description: 'index of its vault (default: 0)' },
  ],
  details: [
    '--api-url, --api-key-header and --data-dir, which are global, are stored in the profile here.',
    'The key is kept in a file of its own that only you can read; it is never taken from the command line.',
  ],
  output: [
    '{ "name", "current", "hasApiKey", "apiUrl"?, "apiKeyHeader"?, "dataDir"?, "rpcUrl"?, "keypair"?, "pinned"? }',
  ],
  errors: ['ERR_INPUT_INVALID', 'ERR_CONFIG_INVALID'],
  examples: ['flywheel profile add staging --api-url https://api.example.com --api-key-stdin < key.txt'],
  run,
};
