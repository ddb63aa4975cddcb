/** Who keeps the keys of the operator and the burn wallet: option > environment > profile; then it is for the data directory to say. */
import type { KeypairSigner } from '../../chain/transaction/signer.js';
import type { KeyKeeper, Setting, SignerSettings } from '../../compose/settings.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { CliContext } from '../context.js';
import { fromEnvironment } from '../wallet/keypair-source.js';
import { findSetting, type Places } from './find-setting.js';
import type { SETTINGS_TABLE } from './settings-table.js';

function resolveOne(
  context: CliContext,
  places: Places,
  name: 'operatorSigner' | 'burnSigner',
  variable: (typeof SETTINGS_TABLE.signerKeypairs.variables)[number],
): Setting<KeyKeeper | null> {
  const found = findSetting(name, places);
  const keypair = places.env[variable];
  if (found?.source !== 'flag' && keypair !== undefined && keypair !== '') {
    if (found?.source === 'environment')
      throw new FlywheelError('ERR_CONFIG_INVALID', `${found.where} and ${variable} cannot be combined.`);
    const load = () => loadKey(context, keypair, variable);
    return { value: { where: variable, load }, source: 'environment' };
  }
  if (found === undefined) return { value: null, source: 'default' };
  return { value: { where: found.where, command: found.text }, source: found.source };
}

/** @throws `ERR_KEYPAIR_INVALID` naming the variable or the file, and never its content. */
async function loadKey(context: CliContext, text: string, variable: string): Promise<KeypairSigner> {
  const { loadKeypair } = await import('../wallet/load-keypair.js');
  return loadKeypair(context, fromEnvironment(text), variable);
}

/** @throws `ERR_CONFIG_INVALID` where the environment names two keepers of one key. */
export const resolveSigners = (context: CliContext, places: Places): SignerSettings => ({
  operator: resolveOne(context, places, 'operatorSigner', 'FLYWHEEL_OPERATOR_KEYPAIR'),
  burnWallet: resolveOne(context, places, 'burnSigner', 'FLYWHEEL_BURN_KEYPAIR'),
});
