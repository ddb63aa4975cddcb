/** What mints and token accounts hold, of both token programs; what follows from it is decided by callers. */
import { type Address, addressFromBytes } from '../../values/address.js';
import { partOf, type ReadonlyBytes, viewOf } from '../../values/bytes.js';
import type { AccountState } from '../account.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.js';

/** Size without extensions (spl-token-interface, `Mint::LEN`). */
export const MINT_SIZE_BYTES = 82;
/** Size without extensions (spl-token-interface, `Account::LEN`). */
export const TOKEN_ACCOUNT_SIZE_BYTES = 165;
const MULTISIG_SIZE_BYTES = 355;

/** With extensions, both kinds are padded to 165 bytes; this byte tells them apart (spl-token-2022, `AccountType`). */
const ACCOUNT_TYPE_OFFSET = TOKEN_ACCOUNT_SIZE_BYTES;
const MINT_TYPE = 1;
const TOKEN_ACCOUNT_TYPE = 2;
const EXTENSION_HEADER_BYTES = 4;

/** Numbers of the Token-2022 extensions that change what a burn or transfer does (spl-token-2022, `ExtensionType`). */
export const TOKEN_EXTENSION = {
  transferFee: 1,
  defaultAccountState: 6,
  immutableOwner: 7,
  memoTransfer: 8,
  nonTransferable: 9,
  permanentDelegate: 12,
  transferHook: 14,
  pausable: 26,
} as const;

/** One entry behind the base state of a Token-2022 mint or account. */
export interface TokenExtension {
  readonly type: number;
  readonly data: ReadonlyBytes;
}

/** State of a mint. */
export interface Mint {
  readonly tokenProgram: Address;
  /** `null`: no more can ever be minted. */
  readonly mintAuthority: Address | null;
  /** Base units. */
  readonly supply: bigint;
  readonly decimals: number;
  readonly freezeAuthority: Address | null;
  readonly extensions: readonly TokenExtension[];
}

/** Whether a fee is withheld from what recipients of a transfer get. */
export const chargesTransferFee = (mint: Mint | undefined): boolean =>
  mint?.extensions.some(({ type }) => type === TOKEN_EXTENSION.transferFee) ?? false;

/** State of a token account. */
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

/** A u32 tag, then room for a key. */
const readOptionalKey = (data: ReadonlyBytes, at: number): Address | null =>
  viewOf(data).getUint32(at, true) === 1 ? readKey(data, at + 4) : null;

/** Type u16, length u16, data; a type of 0 ends the list. `undefined` when an entry runs over the end. */
function readExtensions(data: ReadonlyBytes): TokenExtension[] | undefined {
  const view = viewOf(data);
  const extensions: TokenExtension[] = [];
  let at = ACCOUNT_TYPE_OFFSET + 1;
  while (at + EXTENSION_HEADER_BYTES <= data.length && view.getUint16(at, true) !== 0) {
    const type = view.getUint16(at, true);
    const start = at + EXTENSION_HEADER_BYTES;
    const end = start + view.getUint16(at + 2, true);
    if (end > data.length) return undefined;
    extensions.push({ type, data: partOf(data, start, end) });
    at = end;
  }
  return extensions;
}

/** The extensions of a well-formed account of this kind, or `undefined` if it is none. */
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

/** A mint of either token program, or `undefined` when the account is not an initialized one. */
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

// States of a token account (spl-token-interface, `AccountState`); 0 is not initialized.
const INITIALIZED = 1;
export const FROZEN = 2;

/** A token account of either token program, or `undefined` when the account is not an initialized one. */
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
