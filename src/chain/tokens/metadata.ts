/** What a token is called on chain. Anybody may call a token anything: a symbol names, it proves nothing. */
import { type Address, addressBytes } from '../../values/address.js';
import { partOf, type ReadonlyBytes, readBuffer, viewOf } from '../../values/bytes.js';
import type { AccountState } from '../account.js';
import { METADATA_PROGRAM } from '../programs.js';
import { derive } from '../squads/addresses.js';
import type { Mint } from './accounts.js';

/** The extension of Token-2022 that names a token (spl-token-metadata-interface, `TokenMetadata`). */
const TOKEN_METADATA = 19;
/** Update authority and mint. */
const EXTENSION_TEXTS_AT = 64;
/** Kind, update authority and mint (Metaplex Token Metadata, `Metadata`). */
const ACCOUNT_TEXTS_AT = 65;
const METADATA_KIND = 4;

/** Where Metaplex keeps the metadata of a mint. */
export const metadataAddress = (mint: Address): Address =>
  derive(
    [Buffer.from('metadata', 'ascii'), addressBytes(METADATA_PROGRAM), addressBytes(mint)],
    METADATA_PROGRAM,
  ).address;

/** A text behind its length, u32; `undefined` when it runs over the end. */
function textAt(data: ReadonlyBytes, at: number): { text: string; end: number } | undefined {
  if (at + 4 > data.length) return undefined;
  const end = at + 4 + viewOf(data).getUint32(at, true);
  if (end > data.length) return undefined;
  return { text: readBuffer(partOf(data, at + 4, end)).toString('utf8'), end };
}

/** Name, then symbol; both may be filled up with zeros. */
function symbolAt(data: ReadonlyBytes, at: number): string | null {
  const name = textAt(data, at);
  const symbol = name === undefined ? undefined : textAt(data, name.end);
  return symbol === undefined ? null : symbol.text.replace(/\0+$/, '');
}

/** A short word that is seen, and cannot be mistaken for a part of the amount that it stands behind, as `000X` can behind `5`. */
const PLAIN_SYMBOL = /^(?=.*\p{L})(?!.*\p{Default_Ignorable_Code_Point})[\p{L}$][\p{L}\p{N}$._-]{0,15}$/u;

/** A symbol that may stand behind an amount, or `null`. */
export const plainSymbol = (symbol: string | null): string | null =>
  symbol !== null && PLAIN_SYMBOL.test(symbol) ? symbol : null;

/** Digits and letters that look like them (Latin, Cyrillic, Greek), maybe as an exponent: `O00`, `e6`. */
const LIKE_DIGITS = /^[eE]?[\p{N}Oo\u041e\u043e\u039f\u03bfIl._-]+$/u;
/** Powers of ten. */
const MAGNITUDES = new Set([
  'k',
  'm',
  'b',
  't',
  'mn',
  'bn',
  'tn',
  'mio',
  'mil',
  'thousand',
  'million',
  'billion',
  'trillion',
]);

/** A symbol as it stands behind an amount, quoted where it reads as a part of it, or `null` where it may not stand there. */
export function shownSymbol(symbol: string | null): string | null {
  const plain = plainSymbol(symbol);
  const isLikeAmount = plain !== null && (LIKE_DIGITS.test(plain) || MAGNITUDES.has(plain.toLowerCase()));
  return isLikeAmount ? `"${plain}"` : plain;
}

/**
 * The symbol of a mint: of its own extension, else of its Metaplex account.
 * @param account - at {@link metadataAddress}.
 * @returns `null` where there is none, or one that may not stand behind an amount.
 */
export function symbolOf(mint: Pick<Mint, 'extensions'>, account: AccountState | null): string | null {
  const own = mint.extensions.find(({ type }) => type === TOKEN_METADATA);
  if (own !== undefined) return plainSymbol(symbolAt(own.data, EXTENSION_TEXTS_AT));
  if (account?.owner !== METADATA_PROGRAM || account.data[0] !== METADATA_KIND) return null;
  return plainSymbol(symbolAt(account.data, ACCOUNT_TEXTS_AT));
}
