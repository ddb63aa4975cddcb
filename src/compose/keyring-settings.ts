/** Who keeps the keys of an engine, as the settings say, else the data directory. */
import type { KeypairSigner } from '../chain/transaction/signer.js';
import { SIGNER_NAMES, type SignerNames } from '../cli/config/resolve-signers.js';
import type { KeyKeeper, Settings, SignerSettings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import type { KeypairSource } from '../cli/wallet/keypair-source.js';
import { createKeyring, type KeySource, type OpenedKeyring } from './custody.js';
import type { FileKeyring } from './file-keyring.js';
import type { StoredSigners } from './local-config.js';

/** What is known beside the settings. */
export interface KeyringTerms {
  /** What the data directory says. */
  readonly stored?: StoredSigners | undefined;
  /** Do programs go on after an interrupt, until the engine is closed? @default they end at once */
  readonly outlivesSignal?: boolean;
}

/** @returns what makes the keyring of an engine from the files of its data directory. */
export function keyringOf(
  ambient: Ambient,
  { signers }: Settings,
  { stored = {}, outlivesSignal = false }: KeyringTerms = {},
): (files: FileKeyring) => OpenedKeyring {
  const source = (role: keyof SignerSettings): KeySource | undefined => {
    const names = SIGNER_NAMES[role];
    const { value, source: from } = signers[role];
    const command = stored[role];
    // What the directory was registered with comes before a profile, which may be of another one.
    const keeper = value === null || from === 'profile' ? (command && { command }) || value : value;
    return keeper === null ? undefined : sourceOf(ambient, keeper, names);
  };
  const [operator, burnWallet] = [source('operator'), source('burnWallet')];
  const custody = {
    ...(operator === undefined ? {} : { operator }),
    ...(burnWallet === undefined ? {} : { 'burn wallet': burnWallet }),
  };
  const endsAtSignal = !outlivesSignal && (operator ?? burnWallet) !== undefined;
  const terms = { env: ambient.env, ...(endsAtSignal ? { signal: ambient.signal } : {}) };
  return (files) => createKeyring(files, custody, terms);
}

function sourceOf(ambient: Ambient, keeper: KeyKeeper, names: SignerNames): KeySource {
  if ('command' in keeper) return { kind: 'program', command: keeper.command, setting: names.flag };
  return {
    kind: 'keypair',
    setting: names.keypair,
    load: () => loadKey(ambient, keeper.keypair, names.keypair),
  };
}

/** @throws `ERR_KEYPAIR_INVALID` naming the variable or the file, and never its content. */
async function loadKey(ambient: Ambient, source: KeypairSource, variable: string): Promise<KeypairSigner> {
  const { loadKeypair } = await import('../cli/wallet/load-keypair.js');
  return loadKeypair(ambient, source, variable);
}
