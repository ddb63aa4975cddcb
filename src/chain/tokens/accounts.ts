/** Mints, token accounts and extensions of both token programs, and token symbols: decoding only, callers decide. */
import { type Address, addressBytes, addressFromBytes } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
import { partOf, type ReadonlyBytes, readBuffer, viewOf } from '../../values/bytes.js';
import { sha256 } from '../../values/digest.js';
import type { AccountState } from '../account.js';
import { blob, struct, tryDecode, u32 } from '../codec.js';
import { METADATA_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.js';
import { derive } from '../squads/addresses.js';

export const MINT_SIZE_BYTES = 82;
const TOKEN_ACCOUNT_SIZE_BYTES = 165;
const MULTISIG_SIZE_BYTES = 355;

/** With extensions, both kinds are padded to 165 bytes; this byte tells them apart (spl-token-2022, `AccountType`). */
const ACCOUNT_TYPE_OFFSET = TOKEN_ACCOUNT_SIZE_BYTES;
const MINT_TYPE = 1;
const TOKEN_ACCOUNT_TYPE = 2;
const EXTENSION_HEADER_BYTES = 4;

/** By number, from 1 (spl-token-2022-interface 2.1, `ExtensionType`). */
const EXTENSION_NAMES = [
  'transferFeeConfig',
  'transferFeeAmount',
  'mintCloseAuthority',
  'confidentialTransferMint',
  'confidentialTransferAccount',
  'defaultAccountState',
  'immutableOwner',
  'memoTransfer',
  'nonTransferable',
  'interestBearingConfig',
  'cpiGuard',
  'permanentDelegate',
  'nonTransferableAccount',
  'transferHook',
  'transferHookAccount',
  'confidentialTransferFeeConfig',
  'confidentialTransferFeeAmount',
  'metadataPointer',
  'tokenMetadata',
  'groupPointer',
  'tokenGroup',
  'groupMemberPointer',
  'tokenGroupMember',
  'confidentialMintBurn',
  'scaledUiAmount',
  'pausable',
  'pausableAccount',
  'permissionedBurn',
] as const;

interface TokenExtension {
  readonly name: (typeof EXTENSION_NAMES)[number] | `extension ${number}`;
  readonly data: ReadonlyBytes;
}

export interface Mint {
  readonly tokenProgram: Address;
  /** `null`: the supply can never grow. */
  readonly mintAuthority: Address | null;
  /** Base units. */
  readonly supply: bigint;
  readonly decimals: number;
  readonly freezeAuthority: Address | null;
  readonly extensions: readonly TokenExtension[];
}

/** Data of an extension, if there is one of this name. */
export const extensionOf = (
  { extensions }: Pick<Mint, 'extensions'>,
  wanted: TokenExtension['name'],
): ReadonlyBytes | undefined => extensions.find(({ name }) => name === wanted)?.data;

export const chargesTransferFee = (mint: Mint | undefined): boolean =>
  mint !== undefined && extensionOf(mint, 'transferFeeConfig') !== undefined;

export interface TokenAccount {
  readonly tokenProgram: Address;
  readonly mint: Address;
  readonly owner: Address;
  /** Base units. */
  readonly amount: bigint;
  readonly delegate: Address | null;
  readonly delegatedAmount: bigint;
  readonly frozen: boolean;
  readonly closeAuthority: Address | null;
  readonly extensions: readonly TokenExtension[];
}

const readKey = (data: ReadonlyBytes, at: number): Address => addressFromBytes(partOf(data, at, at + 32));

const readOptionalKey = (data: ReadonlyBytes, at: number): Address | null =>
  viewOf(data).getUint32(at, true) === 1 ? readKey(data, at + 4) : null;

/** Type u16, length u16, data; type 0 ends the list. `undefined` when an entry exceeds the data. */
function readExtensions(data: ReadonlyBytes): TokenExtension[] | undefined {
  const view = viewOf(data);
  const extensions: TokenExtension[] = [];
  let at = ACCOUNT_TYPE_OFFSET + 1;
  while (at + EXTENSION_HEADER_BYTES <= data.length && view.getUint16(at, true) !== 0) {
    const type = view.getUint16(at, true);
    const start = at + EXTENSION_HEADER_BYTES;
    const end = start + view.getUint16(at + 2, true);
    if (end > data.length) return undefined;
    const name = EXTENSION_NAMES[type - 1] ?? (`extension ${type}` as const);
    extensions.push({ name, data: partOf(data, start, end) });
    at = end;
  }
  return extensions;
}

function extensionsOf(
  owner: Address,
  data: ReadonlyBytes,
  size: number,
  type: number,
): TokenExtension[] | undefined {
  const is2022 = owner === TOKEN_2022_PROGRAM;
  if (!is2022 && owner !== TOKEN_PROGRAM) return undefined;
  if (data.length === size) return [];
  if (!is2022 || data.length === MULTISIG_SIZE_BYTES) return undefined;
  if (data.length <= ACCOUNT_TYPE_OFFSET || data[ACCOUNT_TYPE_OFFSET] !== type) return undefined;
  if ([...partOf(data, size, ACCOUNT_TYPE_OFFSET)].some((byte) => byte !== 0)) return undefined;
  return readExtensions(data);
}

/** `undefined` unless the account is an initialized mint of either token program. */
export function decodeMint(account: AccountState | null): Mint | undefined {
  if (account === null) return undefined;
  const { data } = account;
  const extensions = extensionsOf(account.owner, data, MINT_SIZE_BYTES, MINT_TYPE);
  if (extensions === undefined || data[45] !== 1) return undefined;
  const view = viewOf(data);
  return {
    tokenProgram: account.owner,
    mintAuthority: readOptionalKey(data, 0),
    supply: view.getBigUint64(36, true),
    decimals: view.getUint8(44),
    freezeAuthority: readOptionalKey(data, 46),
    extensions,
  };
}

// States of a token account (spl-token-interface, `AccountState`); 0 is uninitialized.
const INITIALIZED = 1;
export const FROZEN = 2;

/** `undefined` unless the account is an initialized token account of either token program. */
export function decodeTokenAccount(account: AccountState | null): TokenAccount | undefined {
  if (account === null) return undefined;
  const { data } = account;
  const extensions = extensionsOf(account.owner, data, TOKEN_ACCOUNT_SIZE_BYTES, TOKEN_ACCOUNT_TYPE);
  if (extensions === undefined) return undefined;
  const view = viewOf(data);
  const state = view.getUint8(108);
  if (state !== INITIALIZED && state !== FROZEN) return undefined;
  return {
    tokenProgram: account.owner,
    mint: readKey(data, 0),
    owner: readKey(data, 32),
    amount: view.getBigUint64(64, true),
    delegate: readOptionalKey(data, 72),
    delegatedAmount: view.getBigUint64(121, true),
    frozen: state === FROZEN,
    closeAuthority: readOptionalKey(data, 129),
    extensions,
  };
}

/** Extensions with amounts, which change with every use. */
const AMOUNTS: ReadonlySet<string> = new Set([
  ...['transferFeeAmount', 'confidentialTransferAccount', 'confidentialTransferFeeAmount'],
]);
/** Data up to this length is shown in hexadecimal, longer data as its SHA-256. */
const SHOWN_BYTES = 32;
const KEY_BYTES = 32;

const keyText = (data: ReadonlyBytes, at: number): string => {
  const key = partOf(data, at, at + KEY_BYTES);
  return [...key].every((byte) => byte === 0) ? 'none' : base58Encode(key);
};

/** Layout: two authorities, withheld amount u64, then the older and the newer fee: epoch u64, maximum u64, basis points u16. */
function transferFeeText(data: ReadonlyBytes): string {
  const view = viewOf(data);
  const fee = (at: number): string =>
    `${view.getUint16(at + 16, true)} basis points up to ${view.getBigUint64(at + 8, true)} from epoch ${view.getBigUint64(at, true)}`;
  return `changed by ${keyText(data, 0)}, withdrawn by ${keyText(data, 32)}, ${fee(72)}, then ${fee(90)}`;
}
const TRANSFER_FEE_BYTES = 108;

const ACCOUNT_STATES = ['uninitialized', 'initialized', 'frozen'];

/** Text of an extension that is equal exactly if its rules are equal; amounts are left out. */
export function extensionText({ name, data }: TokenExtension): string {
  if (AMOUNTS.has(name)) return 'present';
  if (name === 'transferFeeConfig' && data.length === TRANSFER_FEE_BYTES) return transferFeeText(data);
  if (name === 'permanentDelegate' && data.length === KEY_BYTES) return keyText(data, 0);
  if (name === 'defaultAccountState' && data.length === 1)
    return ACCOUNT_STATES[data[0] ?? 0] ?? `state ${data[0]}`;
  if (data.length === 0) return 'present';
  const bytes = readBuffer(data);
  return data.length <= SHOWN_BYTES ? bytes.toString('hex') : `sha256:${sha256(bytes)}`;
}

/** In the extension `tokenMetadata` (spl-token-metadata-interface, `TokenMetadata`). */
const EXTENSION_TEXTS_AT = 64;
const ACCOUNT_TEXTS_AT = 65;
const METADATA_KIND = 4;

export const metadataAddress = (mint: Address): Address =>
  derive(
    [Buffer.from('metadata', 'ascii'), addressBytes(METADATA_PROGRAM), addressBytes(mint)],
    METADATA_PROGRAM,
  ).address;

const names = struct({ name: blob(u32), symbol: blob(u32) });

/** Name, then symbol; both may be padded with zeros. */
function symbolAt(data: ReadonlyBytes, at: number): string | null {
  const found = tryDecode(names, data, at);
  return found === undefined ? null : readBuffer(found.symbol).toString('utf8').replace(/\0+$/, '');
}

/** A short visible word that cannot be read as part of the amount before it, as `000X` after `5`. */
const PLAIN_SYMBOL = /^(?=.*\p{L})(?!.*\p{Default_Ignorable_Code_Point})[\p{L}$][\p{L}\p{N}$._-]{0,15}$/u;

export const plainSymbol = (symbol: string | null): string | null =>
  symbol !== null && PLAIN_SYMBOL.test(symbol) ? symbol : null;

/** Digits and letters that resemble them (Latin, Cyrillic, Greek), or an exponent: `O00`, `e6`. */
const LIKE_DIGITS = /^[eE]?[\p{N}Oo\u041e\u043e\u039f\u03bfIl._-]+$/u;
const MAGNITUDES = new Set('k m b t mn bn tn mio mil thousand million billion trillion'.split(' '));

/**
 * The symbol as printed after an amount, in quotes if it resembles part of the amount; `null` if it may not follow an amount.
 */
export function shownSymbol(symbol: string | null): string | null {
  const plain = plainSymbol(symbol);
  const isLikeAmount = plain !== null && (LIKE_DIGITS.test(plain) || MAGNITUDES.has(plain.toLowerCase()));
  return isLikeAmount ? `"${plain}"` : plain;
}

/**
 * The symbol of a mint: from its own extension, else from its Metaplex account.
 * @param account - at {@link metadataAddress}.
 * @returns `null` without a symbol, or for one that may not follow an amount.
 */
export function symbolOf(mint: Pick<Mint, 'extensions'>, account: AccountState | null): string | null {
  const own = extensionOf(mint, 'tokenMetadata');
  if (own !== undefined) return plainSymbol(symbolAt(own, EXTENSION_TEXTS_AT));
  if (account?.owner !== METADATA_PROGRAM || account.data[0] !== METADATA_KIND) return null;
  return plainSymbol(symbolAt(account.data, ACCOUNT_TEXTS_AT));
}
