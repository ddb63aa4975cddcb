/** Who keeps the keys of the operator and the burn wallet: option > environment > profile; then it is for the data directory to say. */
import type { KeypairSigner } from '../../chain/transaction/signer.js';
import type { KeyKeeper, Setting, SignerSettings } from '../../compose/settings.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { CliContext } from '../context.js';
import { fromEnvironment } from '../wallet/keypair-source.js';
import { findSetting, longFlag, type Places } from './find-setting.js';
import { SETTINGS_TABLE } from './settings-table.js';

/** The names under which a key's keeper can be given. */
interface SignerNames {
  readonly setting: 'operatorSigner' | 'burnSigner';
  readonly flag: string;
  /** The variable of its keypair. */
  readonly keypair: string;
}

const SIGNER_NAMES: Readonly<Record<keyof SignerSettings, SignerNames>> = {
  operator: {
    setting: 'operatorSigner',
    flag: longFlag(SETTINGS_TABLE.operatorSigner.flags),
    keypair: 'FLYWHEEL_OPERATOR_KEYPAIR',
  },
  burnWallet: {
    setting: 'burnSigner',
    flag: longFlag(SETTINGS_TABLE.burnSigner.flags),
    keypair: 'FLYWHEEL_BURN_KEYPAIR',
  },
};

function resolveOne(context: CliContext, places: Places, names: SignerNames): Setting<KeyKeeper | null> {
  const found = findSetting(names.setting, places);
  const keypair = places.env[names.keypair];
  if (found?.source !== 'flag' && keypair !== undefined && keypair !== '') {
    if (found?.source !== 'environment')
      return { value: { load: () => loadKey(context, keypair, names.keypair) }, source: 'environment' };
    throw new FlywheelError('ERR_CONFIG_INVALID', `${found.where} and ${names.keypair} cannot be combined.`);
  }
  return found === undefined
    ? { value: null, source: 'default' }
    : { value: { command: found.text }, source: found.source };
}

/** @throws `ERR_KEYPAIR_INVALID` naming the variable or the file, and never its content. */
async function loadKey(context: CliContext, text: string, variable: string): Promise<KeypairSigner> {
  const { loadKeypair } = await import('../wallet/load-keypair.js');
  return loadKeypair(context, fromEnvironment(text), variable);
}

/** @throws `ERR_CONFIG_INVALID` where the environment names two keepers of one key. */
export const resolveSigners = (context: CliContext, places: Places): SignerSettings => ({
  operator: resolveOne(context, places, SIGNER_NAMES.operator),
  burnWallet: resolveOne(context, places, SIGNER_NAMES.burnWallet),
});
