/** Methods that read accounts, and an account as a node shows it. */
import type { AccountState } from '../../chain/account.js';
import type { AccountSource } from '../../chain/local/vm/vm.js';
import { CLOCK_SYSVAR } from '../../chain/programs.js';
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import type { Address } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
import { partOf, type ReadonlyBytes, readBuffer } from '../../values/bytes.js';
import type { JsonValue } from '../../values/canonical-json.js';
import {
  inContext,
  type Methods,
  type Options,
  type RpcCall,
  readAddress,
  readBytes,
  readCount,
  type View,
} from '../call.js';
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

/** Accounts at once (agave, `MAX_MULTIPLE_ACCOUNTS`). */
const MAX_ACCOUNTS = 100;
/** Filters at once (agave, `MAX_GET_PROGRAM_ACCOUNT_FILTERS`). */
const MAX_FILTERS = 4;
const MAX_MEMCMP_BYTES = 128;

/** Does an account pass? */
type Filter = (state: AccountState) => boolean;

function memcmpFilter(value: JsonValue | undefined): Filter {
  const { offset, bytes, encoding } = (value ?? {}) as Options;
  const from = readCount(offset, 'an offset');
  if (typeof bytes !== 'string') throw invalidParams('Invalid params: expected bytes to compare with.');
  const wanted = readBytes(bytes, encoding === 'base64' ? 'base64' : 'base58');
  if (wanted.length > MAX_MEMCMP_BYTES) throw invalidParams('Invalid Request: encoded data is too long');
  return ({ data }) =>
    data.length >= from + wanted.length && wanted.every((byte, at) => data[from + at] === byte);
}

function filterOf(value: JsonValue): Filter {
  const { dataSize, memcmp } = (typeof value === 'object' ? (value ?? {}) : {}) as Options;
  if (dataSize !== undefined) {
    const size = readCount(dataSize, 'a size');
    return ({ data }) => data.length === size;
  }
  if (memcmp !== undefined) return memcmpFilter(memcmp);
  throw invalidParams('Invalid params: unknown filter.');
}

/** @throws RpcError */
function filtersOf({ filters }: Options): readonly Filter[] {
  if (filters === undefined || filters === null) return [];
  if (!Array.isArray(filters)) throw invalidParams('Invalid params: expected a list of filters.');
  if (filters.length > MAX_FILTERS) throw invalidParams(`Too many filters provided; max ${MAX_FILTERS}`);
  return filters.map(filterOf);
}

/** Slot, start of the epoch, epoch, leader schedule's epoch, time: the clock as of the block. */
function clockAccount(view: View, state: AccountState): AccountState {
  const data = Buffer.alloc(40);
  data.writeBigUInt64LE(BigInt(view.slot), 0);
  data.writeBigInt64LE(BigInt(Math.floor(view.cluster.timeMs(view.slot) / 1_000)), 32);
  return { ...state, data };
}

function accountOf(view: View, address: Address): AccountState | null {
  const state = view.get(address);
  return state !== null && address === CLOCK_SYSVAR ? clockAccount(view, state) : state;
}

function* programAccounts(view: View, program: Address): Generator<readonly [Address, AccountState]> {
  for (const [address, state] of view.cluster.accounts(view.slot))
    if (state.owner === program) yield [address, state];
}

function getProgramAccounts(call: RpcCall): unknown {
  const program = call.address(0);
  const options = call.options(1);
  const terms = dataTerms(options);
  const filters = filtersOf(options);
  const view = call.view(options);
  const found = [...programAccounts(view, program)]
    .filter(([, state]) => filters.every((passes) => passes(state)))
    .map(([pubkey, state]) => ({ pubkey, account: accountJson(state, terms, view) }));
  return options['withContext'] === true ? inContext(view, found) : found;
}

function mintOf(view: View, address: Address) {
  const mint = decodeMint(view.get(address));
  if (mint === undefined) throw invalidParams('Invalid param: not a Token mint');
  return mint;
}

function getTokenAccountBalance(call: RpcCall): unknown {
  const view = call.view(call.options(1));
  const state = view.get(call.address(0));
  if (state === null) throw invalidParams('Invalid param: could not find account');
  const account = decodeTokenAccount(state);
  if (account === undefined) throw invalidParams('Invalid param: not a Token account');
  return inContext(view, amountJson(account.amount, mintOf(view, account.mint).decimals));
}

/** Of an owner, with a mint or of a token program. */
function getTokenAccountsByOwner(call: RpcCall): unknown {
  const owner = call.address(0);
  const { mint, programId } = call.options(1);
  const options = call.options(2);
  const terms = dataTerms(options);
  const view = call.view(options);
  const ofMint = mint === undefined ? null : readAddress(mint);
  const program = ofMint === null ? readAddress(programId) : mintOf(view, ofMint).tokenProgram;
  const found = [...programAccounts(view, program)].flatMap(([pubkey, state]) => {
    const account = decodeTokenAccount(state);
    const fits = account?.owner === owner && (ofMint === null || account.mint === ofMint);
    return fits ? [{ pubkey, account: accountJson(state, terms, view) }] : [];
  });
  return inContext(view, found);
}

/** What the methods of accounts answer. */
export const ACCOUNT_METHODS: Methods = {
  getAccountInfo(call) {
    const options = call.options(1);
    const view = call.view(options);
    const state = accountOf(view, call.address(0));
    return inContext(view, state && accountJson(state, dataTerms(options), view));
  },
  getMultipleAccounts(call) {
    const options = call.options(1);
    const terms = dataTerms(options, 'base64');
    const view = call.view(options);
    const states = call.texts(0, MAX_ACCOUNTS).map((text) => accountOf(view, readAddress(text)));
    return inContext(
      view,
      states.map((state) => state && accountJson(state, terms, view)),
    );
  },
  getBalance(call) {
    const view = call.view(call.options(1));
    return inContext(view, view.get(call.address(0))?.lamports ?? 0n);
  },
  getProgramAccounts,
  getTokenAccountBalance,
  getTokenAccountsByOwner,
  getTokenSupply(call) {
    const view = call.view(call.options(1));
    const { supply, decimals } = mintOf(view, call.address(0));
    return inContext(view, amountJson(supply, decimals));
  },
};
