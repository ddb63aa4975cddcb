/** Methods that read accounts, and the JSON of an account. */
import { type AccountState, encodeClock, RENT_EPOCH_EXEMPT } from '../../chain/account.js';
import type { AccountSource } from '../../chain/local/vm.js';
import { CLOCK_SYSVAR } from '../../chain/programs.js';
import { decodeMint, decodeTokenAccount } from '../../chain/tokens/accounts.js';
import type { Address } from '../../values/address.js';
import { readBuffer } from '../../values/bytes.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { inContext, type Methods, type Options, type RpcCall, readAddress, type View } from '../call.js';
import { invalidParams } from '../rpc-error.js';

type Encoding = (typeof ENCODINGS)[number];

const ENCODINGS = ['base64', 'jsonParsed'] as const;

/** @throws RpcError */
export function encodingOf({ encoding }: Options): Encoding {
  const known = ENCODINGS.find((name) => name === (encoding ?? 'base64'));
  if (known === undefined) throw invalidParams('Invalid params: this node has no such encoding.');
  return known;
}

export function amountJson(amount: bigint, decimals: number): object {
  const text = formatTokenAmount(amount, decimals);
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}

const PROGRAM_NAMES: Readonly<Record<string, string>> = {
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: 'spl-token',
  TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: 'spl-token-2022',
};

/** `jsonParsed` form of mints and token accounts; `undefined` for others, which are written as bytes. */
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

/** @param source - provides the mint of a token account. */
export function accountJson(state: AccountState, encoding: Encoding, source: AccountSource): object {
  const { lamports, owner, executable } = state;
  const words = encoding === 'jsonParsed' ? parsed(state, source) : undefined;
  const data = words ?? [readBuffer(state.data).toString('base64'), 'base64'];
  return { lamports, owner, data, executable, rentEpoch: RENT_EPOCH_EXEMPT, space: state.data.length };
}

/** Limit per call (agave, `MAX_MULTIPLE_ACCOUNTS`). */
const MAX_ACCOUNTS = 100;
/** The ledger does not store the clock; its data is that of the block. */
function accountOf(view: View, address: Address): AccountState | null {
  const state = view.get(address);
  const isClock = state !== null && address === CLOCK_SYSVAR;
  return isClock ? { ...state, data: encodeClock(view.cluster.clockOf(view.slot)) } : state;
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

function getTokenAccountsByOwner(call: RpcCall): unknown {
  const owner = call.address(0);
  const { mint, programId } = call.options(1);
  const options = call.options(2);
  const encoding = encodingOf(options);
  const view = call.view(options);
  const ofMint = mint === undefined ? null : readAddress(mint);
  const program = ofMint === null ? readAddress(programId) : mintOf(view, ofMint).tokenProgram;
  const found = [...view.cluster.accounts(view.slot)].flatMap(([pubkey, state]) => {
    const account = state.owner === program ? decodeTokenAccount(state) : undefined;
    const fits = account?.owner === owner && (ofMint === null || account.mint === ofMint);
    return fits ? [{ pubkey, account: accountJson(state, encoding, view) }] : [];
  });
  return inContext(view, found);
}

export const ACCOUNT_METHODS: Methods = {
  getAccountInfo(call) {
    const options = call.options(1);
    const view = call.view(options);
    const state = accountOf(view, call.address(0));
    return inContext(view, state && accountJson(state, encodingOf(options), view));
  },
  getMultipleAccounts(call) {
    const options = call.options(1);
    const encoding = encodingOf(options);
    const view = call.view(options);
    const states = call.texts(0, MAX_ACCOUNTS).map((text) => accountOf(view, readAddress(text)));
    return inContext(
      view,
      states.map((state) => state && accountJson(state, encoding, view)),
    );
  },
  getBalance(call) {
    const view = call.view(call.options(1));
    return inContext(view, view.get(call.address(0))?.lamports ?? 0n);
  },
  getTokenAccountBalance,
  getTokenAccountsByOwner,
  getTokenSupply(call) {
    const view = call.view(call.options(1));
    const { supply, decimals } = mintOf(view, call.address(0));
    return inContext(view, amountJson(supply, decimals));
  },
};
