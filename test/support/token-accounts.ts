/** Mints and token accounts by the layouts of spl-token, with any extensions behind them, so that tests can change any part. */
import { AccountLayout, MintLayout } from '@solana/spl-token';
import { PublicKey } from '@solana/web3.js';

/** One TLV entry after the base state. */
export interface Extension {
  readonly type: number;
  readonly data: Uint8Array;
}

type Key = string | PublicKey;

export interface MintParts {
  supply: bigint;
  decimals: number;
  mintAuthority: Key | null;
  freezeAuthority: Key | null;
  extensions: Extension[];
}

export interface TokenAccountParts {
  mint: Key;
  owner: Key;
  amount: bigint;
  delegate: Key | null;
  delegatedAmount: bigint;
  state: number;
  closeAuthority: Key | null;
  extensions: Extension[];
}

const keyOf = (found: Key | null): PublicKey => new PublicKey(found ?? PublicKey.default);
const optionOf = (found: Key | null): 0 | 1 => (found === null ? 0 : 1);

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

export function mintData({ mintAuthority, freezeAuthority, extensions, ...parts }: MintParts): Buffer {
  const data = Buffer.alloc(MintLayout.span);
  MintLayout.encode(
    {
      ...{ mintAuthorityOption: optionOf(mintAuthority), mintAuthority: keyOf(mintAuthority) },
      ...{ freezeAuthorityOption: optionOf(freezeAuthority), freezeAuthority: keyOf(freezeAuthority) },
      ...{ ...parts, isInitialized: true },
    },
    data,
  );
  return extended(data, 1, extensions);
}

export function tokenAccountData({ extensions, ...parts }: TokenAccountParts): Buffer {
  const { mint, owner, delegate, closeAuthority } = parts;
  const data = Buffer.alloc(AccountLayout.span);
  AccountLayout.encode(
    {
      ...{ ...parts, mint: keyOf(mint), owner: keyOf(owner), isNativeOption: 0, isNative: 0n },
      ...{ delegateOption: optionOf(delegate), delegate: keyOf(delegate) },
      ...{ closeAuthorityOption: optionOf(closeAuthority), closeAuthority: keyOf(closeAuthority) },
    },
    data,
  );
  return extended(data, 2, extensions);
}
