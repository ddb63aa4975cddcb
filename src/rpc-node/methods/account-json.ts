/** An account as a node shows it. */
import type { AccountState } from '../../chain/account.js';
import type { AccountSource } from '../../chain/local/vm/vm.js';
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import { base58Encode } from '../../values/base58.js';
import { partOf, type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import { type Options, readCount } from '../call.js';
import { invalidParams } from '../rpc-error.js';

/** How data is written, and which part of it. */
interface DataTerms {
  readonly encoding: 'base58' | 'base64' | 'jsonParsed' | 'binary';
  readonly slice: { readonly offset: number; readonly length: number } | null;
}

/** Bytes that are written as base58 at most (agave, `MAX_BASE58_BYTES`). */
const MAX_BASE58_BYTES = 128;
const ENCODINGS = ['base58', 'base64', 'jsonParsed', 'binary'] as const;

/** @throws RpcError */
export function dataTerms(
  { encoding, dataSlice }: Options,
  otherwise: DataTerms['encoding'] = 'binary',
): DataTerms {
  const chosen = encoding === undefined || encoding === null ? otherwise : encoding;
  const known = ENCODINGS.find((name) => name === chosen);
  if (known === undefined) throw invalidParams('Invalid params: this node has no such encoding.');
  if (dataSlice === undefined || dataSlice === null) return { encoding: known, slice: null };
  if (typeof dataSlice !== 'object' || Array.isArray(dataSlice))
    throw invalidParams('Invalid params: expected a slice of data.');
  const { offset, length } = dataSlice as Options;
  return {
    encoding: known,
    slice: { offset: readCount(offset, 'an offset'), length: readCount(length, 'a length') },
  };
}

/** @throws RpcError */
function dataJson(data: ReadonlyBytes, { encoding, slice }: DataTerms): unknown {
  const part = slice === null ? data : partOf(data, slice.offset, slice.offset + slice.length);
  if (encoding === 'base64' || encoding === 'jsonParsed')
    return [readBuffer(part).toString('base64'), 'base64'];
  // Base58 of more would take too long.
  if (part.length > MAX_BASE58_BYTES)
    throw invalidParams(
      `Encoded binary (base 58) data should be less than ${MAX_BASE58_BYTES} bytes, please use Base64 encoding.`,
    );
  const text = base58Encode(part);
  return encoding === 'binary' ? text : [text, 'base58'];
}

/** Base units as nodes write them. */
export function amountJson(amount: bigint, decimals: number): object {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const text = fraction === '' ? whole : `${whole}.${fraction}`;
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}

const PROGRAM_NAMES: Readonly<Record<string, string>> = {
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: 'spl-token',
  TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: 'spl-token-2022',
};

/** Mints and token accounts in words; `undefined` for all else, which is written as bytes. */
function parsed(state: AccountState, source: AccountSource): unknown {
  const program = PROGRAM_NAMES[state.owner];
  const space = state.data.length;
  const mint = decodeMint(state);
  if (mint !== undefined) {
    const { mintAuthority, supply, decimals, freezeAuthority } = mint;
    const info = { mintAuthority, supply: supply.toString(), decimals, isInitialized: true, freezeAuthority };
    return { program, parsed: { type: 'mint', info }, space };
  }
  const token = decodeTokenAccount(state);
  const decimals = token && decodeMint(source.get(token.mint))?.decimals;
  if (token === undefined || decimals === undefined) return undefined;
  const { delegate, closeAuthority } = token;
  const info = {
    mint: token.mint,
    owner: token.owner,
    tokenAmount: amountJson(token.amount, decimals),
    state: token.frozen ? 'frozen' : 'initialized',
    isNative: false,
    ...(delegate === null ? {} : { delegate, delegatedAmount: amountJson(token.delegatedAmount, decimals) }),
    ...(closeAuthority === null ? {} : { closeAuthority }),
  };
  return { program, parsed: { type: 'account', info }, space };
}

/**
 * @param source - where the mint of a token account is.
 * @throws RpcError for data that base58 would take too long for.
 */
export function accountJson(state: AccountState, terms: DataTerms, source: AccountSource): object {
  const { lamports, owner, executable, rentEpoch } = state;
  const words = terms.encoding === 'jsonParsed' ? parsed(state, source) : undefined;
  const data = words ?? dataJson(state.data, terms);
  return { lamports, owner, data, executable, rentEpoch, space: state.data.length };
}
