/** Mints and token accounts by the layouts of spl-token, with any extensions behind them, so that tests can change any part. */
import { AccountLayout, MintLayout, TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID } from '@solana/spl-token';
import { PublicKey, SystemProgram } from '@solana/web3.js';
import type { AccountState } from '../../src/chain/account.js';
import type { Address } from '../../src/values/address.js';

/** One TLV entry after the base state. */
export interface Extension {
  readonly type: number;
  readonly data: Uint8Array;
}

export interface MintParts<Key = Address> {
  tokenProgram: Key;
  supply: bigint;
  decimals: number;
  mintAuthority: Key | null;
  freezeAuthority: Key | null;
  extensions: Extension[];
}

export interface TokenAccountParts<Key = Address> {
  tokenProgram: Key;
  mint: Key;
  owner: Key;
  amount: bigint;
  delegate: Key | null;
  delegatedAmount: bigint;
  state: number;
  closeAuthority: Key | null;
  extensions: Extension[];
}

type AnyKey = string | PublicKey;

const keyOf = (found: AnyKey | null): PublicKey => new PublicKey(found ?? PublicKey.default);
const optionOf = (found: AnyKey | null): 0 | 1 => (found === null ? 0 : 1);

/** After the base state: its kind (1 mint, 2 account), then type, length and data of each extension. */
function extended(base: Buffer, kind: number, extensions: readonly Extension[]): Buffer {
  if (extensions.length === 0) return base;
  const entries = extensions.map(({ type, data }) => {
    const head = Buffer.alloc(4);
    head.writeUInt16LE(type, 0);
    head.writeUInt16LE(data.length, 2);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([base, Buffer.alloc(AccountLayout.span - base.length), Buffer.of(kind), ...entries]);
}

export function mintData({
  mintAuthority,
  freezeAuthority,
  supply,
  decimals,
  extensions,
}: Omit<MintParts<AnyKey>, 'tokenProgram'>): Buffer {
  const data = Buffer.alloc(MintLayout.span);
  MintLayout.encode(
    {
      ...{ mintAuthorityOption: optionOf(mintAuthority), mintAuthority: keyOf(mintAuthority) },
      ...{ freezeAuthorityOption: optionOf(freezeAuthority), freezeAuthority: keyOf(freezeAuthority) },
      ...{ supply, decimals, isInitialized: true },
    },
    data,
  );
  return extended(data, 1, extensions);
}

export function tokenAccountData(parts: Omit<TokenAccountParts<AnyKey>, 'tokenProgram'>): Buffer {
  const { mint, owner, delegate, closeAuthority, amount, state, delegatedAmount, extensions } = parts;
  const data = Buffer.alloc(AccountLayout.span);
  AccountLayout.encode(
    {
      ...{ mint: keyOf(mint), owner: keyOf(owner), amount, state, isNativeOption: 0, isNative: 0n },
      ...{ delegateOption: optionOf(delegate), delegate: keyOf(delegate), delegatedAmount },
      ...{ closeAuthorityOption: optionOf(closeAuthority), closeAuthority: keyOf(closeAuthority) },
    },
    data,
  );
  return extended(data, 2, extensions);
}

const account = (owner: string, data: Uint8Array, lamports = 10_000_000n): AccountState => ({
  ...{ lamports, owner: owner as Address, data, executable: false },
});

export const mintAccount = (parts: MintParts): AccountState => account(parts.tokenProgram, mintData(parts));
export const tokenAccount = (parts: TokenAccountParts): AccountState =>
  account(parts.tokenProgram, tokenAccountData(parts));
export const wallet = (lamports: bigint): AccountState =>
  account(SystemProgram.programId.toBase58(), Buffer.alloc(0), lamports);

export const TOKEN_PROGRAMS = {
  token: TOKEN_PROGRAM_ID.toBase58() as Address,
  'token-2022': TOKEN_2022_PROGRAM_ID.toBase58() as Address,
} as const;
