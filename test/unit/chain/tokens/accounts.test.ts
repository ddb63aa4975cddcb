import {
  ACCOUNT_TYPE_SIZE,
  AccountLayout,
  AccountState as AccountStateNumber,
  AccountType,
  ExtensionType,
  getAccountLen,
  getMintLen,
  MintLayout,
  unpackAccount,
  unpackMint,
} from '@solana/spl-token';
import { describe, expect, it } from 'vitest';
import type { AccountState } from '../../../../src/chain/account.js';
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import { decodeMint, decodeTokenAccount } from '../../../../src/chain/tokens/accounts.js';
import type { Address } from '../../../../src/values/address.js';
import { namedAddress, publicKey } from '../../../support/oracle.js';

const authority = namedAddress('authority');
const mint = namedAddress('mint');

const account = (data: Uint8Array, owner: Address = TOKEN_PROGRAM): AccountState => ({
  lamports: 1_461_600n,
  owner,
  data: Uint8Array.from(data),
  executable: false,
});

function mintBytes(sizeBytes = MintLayout.span): Buffer {
  const data = Buffer.alloc(sizeBytes);
  MintLayout.encode(
    {
      mintAuthorityOption: 1,
      mintAuthority: publicKey(authority),
      supply: 18_446_744_073_709_551_615n,
      decimals: 9,
      isInitialized: true,
      freezeAuthorityOption: 0,
      freezeAuthority: publicKey(mint),
    },
    data,
  );
  return data;
}

function accountBytes(state: AccountStateNumber, sizeBytes = AccountLayout.span): Buffer {
  const data = Buffer.alloc(sizeBytes);
  AccountLayout.encode(
    {
      mint: publicKey(mint),
      owner: publicKey(authority),
      amount: 12n,
      delegateOption: 1,
      delegate: publicKey(namedAddress('delegate')),
      state,
      isNativeOption: 0,
      isNative: 0n,
      delegatedAmount: 7n,
      closeAuthorityOption: 0,
      closeAuthority: publicKey(mint),
    },
    data,
  );
  return data;
}

/** A Token-2022 account with one extension, as the program writes it. */
function extended(base: Buffer, type: AccountType, extension: number, length: number): Buffer {
  base[AccountLayout.span] = type;
  base.writeUInt16LE(extension, AccountLayout.span + ACCOUNT_TYPE_SIZE);
  base.writeUInt16LE(length, AccountLayout.span + ACCOUNT_TYPE_SIZE + 2);
  return base;
}

describe('decodeMint', () => {
  it('reads what spl-token writes', () => {
    const theirs = unpackMint(
      publicKey(mint),
      { data: mintBytes(), owner: publicKey(TOKEN_PROGRAM), lamports: 1, executable: false },
      publicKey(TOKEN_PROGRAM),
    );
    const ours = decodeMint(account(mintBytes()));
    expect(ours).toEqual({
      tokenProgram: TOKEN_PROGRAM,
      mintAuthority: authority,
      supply: theirs.supply,
      decimals: theirs.decimals,
      freezeAuthority: null,
      extensions: [],
    });
  });

  it('reads a Token-2022 mint and names its extensions', () => {
    const size = getMintLen([ExtensionType.PermanentDelegate]);
    const data = extended(mintBytes(size), AccountType.Mint, ExtensionType.PermanentDelegate, 32);
    const ours = decodeMint(account(data, TOKEN_2022_PROGRAM));
    expect(ours?.decimals).toBe(9);
    expect(ours?.extensions).toEqual([{ name: 'permanentDelegate', data: new Uint8Array(32) }]);
  });

  it('refuses what is no initialized mint', () => {
    const uninitialized = mintBytes();
    uninitialized[45] = 0;
    const tokenAccount = accountBytes(
      AccountStateNumber.Initialized,
      getAccountLen([ExtensionType.ImmutableOwner]),
    );
    const cut = extended(mintBytes(180), AccountType.Mint, ExtensionType.PermanentDelegate, 32);
    for (const state of [
      null,
      account(uninitialized),
      account(mintBytes(), SYSTEM_PROGRAM),
      account(mintBytes().subarray(0, 81)),
      account(mintBytes(170)),
      account(accountBytes(AccountStateNumber.Initialized)),
      account(extended(tokenAccount, AccountType.Account, 7, 0), TOKEN_2022_PROGRAM),
      account(cut, TOKEN_2022_PROGRAM),
      account(extended(mintBytes(355), AccountType.Mint, 0, 0), TOKEN_2022_PROGRAM),
    ]) {
      expect(decodeMint(state)).toBeUndefined();
    }
  });
});

describe('decodeTokenAccount', () => {
  it('reads what spl-token writes, in both programs', () => {
    for (const owner of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]) {
      const data = accountBytes(AccountStateNumber.Initialized);
      const theirs = unpackAccount(
        publicKey(mint),
        { data, owner: publicKey(owner), lamports: 1, executable: false },
        publicKey(owner),
      );
      expect(decodeTokenAccount(account(data, owner))).toEqual({
        tokenProgram: owner,
        mint,
        owner: authority,
        amount: theirs.amount,
        delegate: namedAddress('delegate'),
        delegatedAmount: theirs.delegatedAmount,
        frozen: false,
        closeAuthority: null,
        extensions: [],
      });
    }
  });

  it('reads an associated account of Token-2022, which has an immutable owner, and sees that one is frozen', () => {
    const size = getAccountLen([ExtensionType.ImmutableOwner]);
    expect(size).toBe(170);
    const data = extended(accountBytes(AccountStateNumber.Frozen, size), AccountType.Account, 7, 0);
    const ours = decodeTokenAccount(account(data, TOKEN_2022_PROGRAM));
    expect(ours?.frozen).toBe(true);
    expect(ours?.extensions.map(({ name }) => name)).toEqual(['immutableOwner']);
  });

  it('refuses what is no initialized token account', () => {
    for (const state of [
      null,
      account(mintBytes()),
      account(accountBytes(AccountStateNumber.Uninitialized)),
      account(accountBytes(AccountStateNumber.Initialized), SYSTEM_PROGRAM),
      account(extended(mintBytes(170), AccountType.Mint, 0, 0), TOKEN_2022_PROGRAM),
    ]) {
      expect(decodeTokenAccount(state)).toBeUndefined();
    }
  });
});
