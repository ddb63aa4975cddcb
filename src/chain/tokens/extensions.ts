/** What the extensions of Token-2022 are called, and what each says in words; which of them are acceptable is decided elsewhere. */
import { base58Encode } from '../../values/base58.js';
import { partOf, type ReadonlyBytes, readBuffer, viewOf } from '../../values/bytes.js';
import { sha256 } from '../../values/digest.js';
import { TOKEN_EXTENSION, type TokenExtension } from './accounts.js';

/** By number (spl-token-2022-interface 2.1, `ExtensionType`). */
const EXTENSION_NAMES: Readonly<Record<number, string>> = {
  1: 'transferFeeConfig',
  2: 'transferFeeAmount',
  3: 'mintCloseAuthority',
  4: 'confidentialTransferMint',
  5: 'confidentialTransferAccount',
  6: 'defaultAccountState',
  7: 'immutableOwner',
  8: 'memoTransfer',
  9: 'nonTransferable',
  10: 'interestBearingConfig',
  11: 'cpiGuard',
  12: 'permanentDelegate',
  13: 'nonTransferableAccount',
  14: 'transferHook',
  15: 'transferHookAccount',
  16: 'confidentialTransferFeeConfig',
  17: 'confidentialTransferFeeAmount',
  18: 'metadataPointer',
  19: 'tokenMetadata',
  20: 'groupPointer',
  21: 'tokenGroup',
  22: 'groupMemberPointer',
  23: 'tokenGroupMember',
  24: 'confidentialMintBurn',
  25: 'scaledUiAmount',
  26: 'pausable',
  27: 'pausableAccount',
  28: 'permissionedBurn',
};

/** The name of an extension; of an unknown one its number. */
export const extensionName = (type: number): string => EXTENSION_NAMES[type] ?? `extension ${type}`;

/** Extensions that hold amounts, which change with every use. */
const AMOUNTS: ReadonlySet<number> = new Set([2, 5, 17]);
/** Data of up to so many bytes is shown as it is, longer data as its SHA-256. */
const SHOWN_BYTES = 32;
const KEY_BYTES = 32;

const keyText = (data: ReadonlyBytes, at: number): string => {
  const key = partOf(data, at, at + KEY_BYTES);
  return [...key].every((byte) => byte === 0) ? 'none' : base58Encode(key);
};

/** Two authorities, what is withheld (u64), then the older and the newer fee: epoch u64, maximum u64, basis points u16. */
function transferFeeText(data: ReadonlyBytes): string {
  const view = viewOf(data);
  const fee = (at: number): string =>
    `${view.getUint16(at + 16, true)} basis points up to ${view.getBigUint64(at + 8, true)} from epoch ${view.getBigUint64(at, true)}`;
  return `changed by ${keyText(data, 0)}, withdrawn by ${keyText(data, 32)}, ${fee(72)}, then ${fee(90)}`;
}
const TRANSFER_FEE_BYTES = 108;

const ACCOUNT_STATES = ['uninitialized', 'initialized', 'frozen'];

/** What an extension says, as text that is equal exactly if what it allows is equal; amounts are left out. */
export function extensionText({ type, data }: TokenExtension): string {
  if (AMOUNTS.has(type)) return 'present';
  if (type === TOKEN_EXTENSION.transferFee && data.length === TRANSFER_FEE_BYTES)
    return transferFeeText(data);
  if (type === TOKEN_EXTENSION.permanentDelegate && data.length === KEY_BYTES) return keyText(data, 0);
  if (type === TOKEN_EXTENSION.defaultAccountState && data.length === 1)
    return ACCOUNT_STATES[data[0] ?? 0] ?? `state ${data[0]}`;
  if (data.length === 0) return 'present';
  const bytes = readBuffer(data);
  return data.length <= SHOWN_BYTES ? bytes.toString('hex') : `sha256:${sha256(bytes)}`;
}
