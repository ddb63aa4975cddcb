/** Who keeps the keys of the operator and the burn wallet: flag > environment > profile; then it is for the data directory to say. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Ambient } from '../context.js';
import { fromEnvironment } from '../wallet/keypair-source.js';
import type { Profile } from './profile-file.js';
import type { GlobalFlags } from './resolve.js';
import type { KeyKeeper, Setting, SignerSettings } from './settings.js';

/** The names under which a key's keeper can be given. */
export interface SignerNames {
  readonly field: 'operatorSigner' | 'burnSigner';
  readonly flag: string;
  readonly command: string;
  readonly keypair: string;
}

export const SIGNER_NAMES = {
  operator: {
    field: 'operatorSigner',
    flag: '--operator-signer',
    command: 'FLYWHEEL_OPERATOR_SIGNER',
    keypair: 'FLYWHEEL_OPERATOR_KEYPAIR',
  },
  burnWallet: {
    field: 'burnSigner',
    flag: '--burn-signer',
    command: 'FLYWHEEL_BURN_SIGNER',
    keypair: 'FLYWHEEL_BURN_KEYPAIR',
  },
} as const satisfies Readonly<Record<keyof SignerSettings, SignerNames>>;

const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

function resolveOne(
  { env }: Pick<Ambient, 'env'>,
  flags: GlobalFlags,
  profile: Profile,
  names: SignerNames,
): Setting<KeyKeeper | null> {
  const [typed, stored] = [flags[names.field], profile[names.field]];
  if (typed !== undefined) return { value: { command: typed }, source: 'flag' };
  const [command, keypair] = [filled(env[names.command]), filled(env[names.keypair])];
  if (command !== undefined && keypair !== undefined) {
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `${names.command} and ${names.keypair} exclude each other.`,
    );
  }
  if (command !== undefined) return { value: { command }, source: 'environment' };
  if (keypair !== undefined) return { value: { keypair: fromEnvironment(keypair) }, source: 'environment' };
  if (stored !== undefined) return { value: { command: stored }, source: 'profile' };
  return { value: null, source: 'default' };
}

/** @throws `ERR_CONFIG_INVALID` where the environment names two keepers of one key. */
export const resolveSigners = (
  ambient: Pick<Ambient, 'env'>,
  flags: GlobalFlags,
  profile: Profile,
): SignerSettings => ({
  operator: resolveOne(ambient, flags, profile, SIGNER_NAMES.operator),
  burnWallet: resolveOne(ambient, flags, profile, SIGNER_NAMES.burnWallet),
});
