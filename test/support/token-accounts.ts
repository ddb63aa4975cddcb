/** Builds mints and token accounts byte by byte in the format of both token programs, so that tests can change any part. */
import type { AccountState } from '../../src/chain/account.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/chain/programs.js';
import { type Address, addressBytes } from '../../src/values/address.js';

/** One TLV entry after the base state. */
export interface Extension {
  readonly type: number;
  readonly data: Uint8Array;
}

export interface MintParts {
  tokenProgram: Address;
  supply: bigint;
  decimals: number;
  mintAuthority: Address | null;
  freezeAuthority: Address | null;
  extensions: Extension[];
}

export interface TokenAccountParts {
  tokenProgram: Address;
  mint: Address;
  owner: Address;
  amount: bigint;
  delegate: Address | null;
  delegatedAmount: bigint;
  state: number;
  closeAuthority: Address | null;
  extensions: Extension[];
}

const BASE_BYTES = 165;
const [MINT_TYPE, ACCOUNT_TYPE] = [1, 2];

function optionalKey(data: Buffer, at: number, key: Address | null): void {
  if (key === null) return;
  data.writeUInt32LE(1, at);
  Buffer.from(addressBytes(key) as Uint8Array).copy(data, at + 4);
}

const key = (data: Buffer, at: number, value: Address): unknown =>
  Buffer.from(addressBytes(value) as Uint8Array).copy(data, at);

function withExtensions(base: Buffer, type: number, extensions: readonly Extension[]): Buffer {
  if (extensions.length === 0) return base;
  const padding = Buffer.alloc(BASE_BYTES - base.length);
  const entries = extensions.map(({ type: number, data }) => {
    const head = Buffer.alloc(4);
    head.writeUInt16LE(number, 0);
    head.writeUInt16LE(data.length, 2);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([base, padding, Buffer.of(type), ...entries]);
}

const account = (owner: Address, data: Buffer): AccountState => ({
  lamports: 10_000_000n,
  owner,
  data,
  executable: false,
});

export function mintAccount(parts: MintParts): AccountState {
  const data = Buffer.alloc(82);
  optionalKey(data, 0, parts.mintAuthority);
  data.writeBigUInt64LE(parts.supply, 36);
  data[44] = parts.decimals;
  data[45] = 1;
  optionalKey(data, 46, parts.freezeAuthority);
  return account(parts.tokenProgram, withExtensions(data, MINT_TYPE, parts.extensions));
}

export function tokenAccount(parts: TokenAccountParts): AccountState {
  const data = Buffer.alloc(BASE_BYTES);
  key(data, 0, parts.mint);
  key(data, 32, parts.owner);
  data.writeBigUInt64LE(parts.amount, 64);
  optionalKey(data, 72, parts.delegate);
  data[108] = parts.state;
  data.writeBigUInt64LE(parts.delegatedAmount, 121);
  optionalKey(data, 129, parts.closeAuthority);
  return account(parts.tokenProgram, withExtensions(data, ACCOUNT_TYPE, parts.extensions));
}

export const wallet = (lamports: bigint): AccountState => ({
  lamports,
  owner: '11111111111111111111111111111111' as Address,
  data: Buffer.alloc(0),
  executable: false,
});

export const TOKEN_PROGRAMS = { token: TOKEN_PROGRAM, 'token-2022': TOKEN_2022_PROGRAM } as const;
