/** Mints, token accounts and extensions of both token programs, and token symbols: decoding only, callers decide. */
import { ADDRESS_LENGTH_BYTES, type Address, addressBytes } from '../../values/address.js';
import { partOf, type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { sha256 } from '../../values/digest.js';
import { plainSymbol } from '../../values/token-amount.js';
import type { AccountState } from '../account.js';
import { ByteReader, blob, type Codec, key, struct, tryDecode, u8, u16, u32, u64 } from '../codec.js';
import { METADATA_PROGRAM, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.js';
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

/** What both kinds of accounts have beside their fields. */
interface Extended {
  readonly tokenProgram: Address;
  readonly extensions: readonly TokenExtension[];
}

/** Data of an extension, if there is one of this name. */
export const extensionOf = (
  { extensions }: Pick<Extended, 'extensions'>,
  wanted: TokenExtension['name'],
): ReadonlyBytes | undefined => extensions.find(({ name }) => name === wanted)?.data;

/** A key that counts only after the mark 1 (spl-token-interface, `COption`). */
const optionalKey: Codec<Address | null> = {
  read: (r) => {
    const isThere = u32.read(r) === 1;
    if (isThere) return key.read(r);
    r.skip(ADDRESS_LENGTH_BYTES);
    return null;
  },
  write: (w, own) => {
    u32.write(w, own === null ? 0 : 1);
    key.write(w, own ?? SYSTEM_PROGRAM);
  },
};

const extensionEntry = struct({ type: u16, data: blob(u16) });
const NO_MORE = 0;

/** `undefined` when an entry exceeds the data. */
function readExtensions(data: ReadonlyBytes): TokenExtension[] | undefined {
  const extensions: TokenExtension[] = [];
  for (let at = ACCOUNT_TYPE_OFFSET + 1; at + EXTENSION_HEADER_BYTES <= data.length; ) {
    if (tryDecode(u16, data, at) === NO_MORE) break;
    const entry = tryDecode(extensionEntry, data, at);
    if (entry === undefined) return undefined;
    const name = EXTENSION_NAMES[entry.type - 1] ?? (`extension ${entry.type}` as const);
    extensions.push({ name, data: entry.data });
    at += EXTENSION_HEADER_BYTES + entry.data.length;
  }
  return extensions;
}

/** The fields of an account of this kind, with its extensions. */
function read<Fields extends object>(
  account: AccountState | null,
  { size, type, fields }: { readonly size: number; readonly type: number; readonly fields: Codec<Fields> },
): (Fields & Extended) | undefined {
  if (account === null) return undefined;
  const { owner: tokenProgram, data } = account;
  const is2022 = tokenProgram === TOKEN_2022_PROGRAM;
  if (!is2022 && tokenProgram !== TOKEN_PROGRAM) return undefined;
  if (data.length < size) return undefined;
  const found = fields.read(new ByteReader(data));
  if (data.length === size) return { ...found, tokenProgram, extensions: [] };
  if (!is2022 || data.length === MULTISIG_SIZE_BYTES) return undefined;
  if (data.length <= ACCOUNT_TYPE_OFFSET || data[ACCOUNT_TYPE_OFFSET] !== type) return undefined;
  if ([...partOf(data, size, ACCOUNT_TYPE_OFFSET)].some((byte) => byte !== 0)) return undefined;
  const extensions = readExtensions(data);
  return extensions && { ...found, tokenProgram, extensions };
}

const mintFields = struct({
  /** `null`: the supply can never grow. */
  mintAuthority: optionalKey,
  /** Base units. */
  supply: u64,
  decimals: u8,
  isInitialized: u8,
  freezeAuthority: optionalKey,
});

export type Mint = NonNullable<ReturnType<typeof decodeMint>>;

/** `undefined` unless the account is an initialized mint of either token program. */
export function decodeMint(account: AccountState | null) {
  const mint = read(account, { size: MINT_SIZE_BYTES, type: MINT_TYPE, fields: mintFields });
  if (mint?.isInitialized !== 1) return undefined;
  const { isInitialized: _, ...rest } = mint;
  return rest;
}

export const chargesTransferFee = (mint: Mint | undefined): boolean =>
  mint !== undefined && extensionOf(mint, 'transferFeeConfig') !== undefined;

// States of a token account (spl-token-interface, `AccountState`); 0 is uninitialized.
const INITIALIZED = 1;
export const FROZEN = 2;

const tokenAccountFields = struct({
  mint: key,
  owner: key,
  /** Base units. */
  amount: u64,
  delegate: optionalKey,
  state: u8,
  native: struct({ mark: u32, reservedLamports: u64 }),
  delegatedAmount: u64,
  closeAuthority: optionalKey,
});

export type TokenAccount = NonNullable<ReturnType<typeof decodeTokenAccount>>;

/** `undefined` unless the account is an initialized token account of either token program. */
export function decodeTokenAccount(account: AccountState | null) {
  const kind = { size: TOKEN_ACCOUNT_SIZE_BYTES, type: TOKEN_ACCOUNT_TYPE, fields: tokenAccountFields };
  const found = read(account, kind);
  if (found?.state !== INITIALIZED && found?.state !== FROZEN) return undefined;
  const { state, native: _, ...rest } = found;
  return { ...rest, frozen: state === FROZEN };
}

/** Extensions with amounts, which change with every use. */
const AMOUNTS: ReadonlySet<string> = new Set([
  ...['transferFeeAmount', 'confidentialTransferAccount', 'confidentialTransferFeeAmount'],
]);
/** Data up to this length is shown in hexadecimal, longer data as its SHA-256. */
const SHOWN_BYTES = 32;
const KEY_BYTES = 32;

const keyText = (shown: Address | undefined): string => (shown === SYSTEM_PROGRAM ? 'none' : `${shown}`);

const feeFields = struct({ epoch: u64, maximum: u64, basisPoints: u16 });
const transferFeeFields = struct({
  changer: key,
  withdrawer: key,
  withheld: u64,
  older: feeFields,
  newer: feeFields,
});
const TRANSFER_FEE_BYTES = 108;

function transferFeeText(data: ReadonlyBytes): string | undefined {
  const config = data.length === TRANSFER_FEE_BYTES ? tryDecode(transferFeeFields, data) : undefined;
  if (config === undefined) return undefined;
  const [older, newer] = [config.older, config.newer].map(
    ({ basisPoints, maximum, epoch }) => `${basisPoints} basis points up to ${maximum} from epoch ${epoch}`,
  );
  return `changed by ${keyText(config.changer)}, withdrawn by ${keyText(config.withdrawer)}, ${older}, then ${newer}`;
}

const ACCOUNT_STATES = ['uninitialized', 'initialized', 'frozen'];

/** Text of an extension that is equal exactly if its rules are equal; amounts are left out. */
export function extensionText({ name, data }: TokenExtension): string {
  if (AMOUNTS.has(name)) return 'present';
  const fee = name === 'transferFeeConfig' ? transferFeeText(data) : undefined;
  if (fee !== undefined) return fee;
  if (name === 'permanentDelegate' && data.length === KEY_BYTES) return keyText(tryDecode(key, data));
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

/**
 * The symbol of a mint: from its own extension, else from its Metaplex account.
 * @param account - at {@link metadataAddress}.
 * @returns `null` without a symbol, or for one that may not follow an amount.
 */
export function symbolOf(mint: Pick<Extended, 'extensions'>, account: AccountState | null): string | null {
  const own = extensionOf(mint, 'tokenMetadata');
  if (own !== undefined) return plainSymbol(symbolAt(own, EXTENSION_TEXTS_AT));
  if (account?.owner !== METADATA_PROGRAM || account.data[0] !== METADATA_KIND) return null;
  return plainSymbol(symbolAt(account.data, ACCOUNT_TEXTS_AT));
}
