/** Methods that read accounts. */
import type { AccountState } from '../../chain/account.js';
import { CLOCK_SYSVAR } from '../../chain/programs.js';
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import type { Address } from '../../values/address.js';
import type { JsonValue } from '../../values/canonical-json.js';
import {
  type Call,
  inContext,
  type Methods,
  type Options,
  readAddress,
  readBytes,
  readCount,
  type View,
} from '../call.js';
import { invalidParams } from '../rpc-error.js';
import { accountJson, amountJson, dataTerms } from './account-json.js';

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

function getProgramAccounts(call: Call): unknown {
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

function getTokenAccountBalance(call: Call): unknown {
  const view = call.view(call.options(1));
  const state = view.get(call.address(0));
  if (state === null) throw invalidParams('Invalid param: could not find account');
  const account = decodeTokenAccount(state);
  if (account === undefined) throw invalidParams('Invalid param: not a Token account');
  return inContext(view, amountJson(account.amount, mintOf(view, account.mint).decimals));
}

/** Of an owner, with a mint or of a token program. */
function getTokenAccountsByOwner(call: Call): unknown {
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
