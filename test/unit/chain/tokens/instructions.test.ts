import {
  AuthorityType,
  createAssociatedTokenAccountIdempotentInstruction,
  createBurnCheckedInstruction,
  createInitializeMint2Instruction,
  createMintToCheckedInstruction,
  createSetAuthorityInstruction,
  createTransferCheckedInstruction,
  getAssociatedTokenAddressSync,
} from '@solana/spl-token';
import { PublicKey, SystemProgram } from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import { associatedTokenAddress } from '../../../../src/chain/squads/addresses.js';
import { isOnCurve } from '../../../../src/chain/squads/curve.js';
import { createAccount, transfer } from '../../../../src/chain/system.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
  initializeMint2,
  mintToChecked,
  setAuthority,
  transferChecked,
} from '../../../../src/chain/tokens/instructions.js';
import { fromWeb3, namedAddress, plain, publicKey } from '../../../support/oracle.js';

const [mint, account, other, owner] = ['mint', 'account', 'other', 'owner'].map(namedAddress) as [
  ReturnType<typeof namedAddress>,
  ReturnType<typeof namedAddress>,
  ReturnType<typeof namedAddress>,
  ReturnType<typeof namedAddress>,
];
const key = publicKey;
const amount = 18_446_744_073_709_551_615n;

for (const tokenProgram of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]) {
  const program = key(tokenProgram);
  describe(`token instructions of ${tokenProgram}`, () => {
    it('builds burnChecked as spl-token does', () => {
      expect(plain(burnChecked({ account, mint, owner, amount, decimals: 9, tokenProgram }))).toEqual(
        fromWeb3(createBurnCheckedInstruction(key(account), key(mint), key(owner), amount, 9, [], program)),
      );
    });

    it('builds transferChecked as spl-token does', () => {
      expect(
        plain(
          transferChecked({ from: account, mint, to: other, owner, amount: 1n, decimals: 0, tokenProgram }),
        ),
      ).toEqual(
        fromWeb3(
          createTransferCheckedInstruction(
            key(account),
            key(mint),
            key(other),
            key(owner),
            1n,
            0,
            [],
            program,
          ),
        ),
      );
    });

    it('builds mintToChecked as spl-token does', () => {
      expect(
        plain(mintToChecked({ mint, to: account, authority: owner, amount: 77n, decimals: 6, tokenProgram })),
      ).toEqual(
        fromWeb3(createMintToCheckedInstruction(key(mint), key(account), key(owner), 77n, 6, [], program)),
      );
    });

    it('opens the associated token account as spl-token does', () => {
      const address = getAssociatedTokenAddressSync(key(mint), key(other), true, program);
      expect(associatedTokenAddress(other, mint, tokenProgram)).toBe(address.toBase58());
      expect(
        plain(createAssociatedTokenAccountIdempotent({ payer: owner, owner: other, mint, tokenProgram })),
      ).toEqual(
        fromWeb3(
          createAssociatedTokenAccountIdempotentInstruction(
            key(owner),
            address,
            key(other),
            key(mint),
            program,
          ),
        ),
      );
    });

    it('hands an authority over and gives it up as spl-token does', () => {
      for (const [type, number] of [
        ['mintTokens', AuthorityType.MintTokens],
        ['freezeAccount', AuthorityType.FreezeAccount],
        ['accountOwner', AuthorityType.AccountOwner],
        ['closeAccount', AuthorityType.CloseAccount],
      ] as const) {
        for (const newAuthority of [other, null]) {
          const ours = setAuthority({
            account: mint,
            currentAuthority: owner,
            type,
            newAuthority,
            tokenProgram,
          });
          const theirs = fromWeb3(
            createSetAuthorityInstruction(
              key(mint),
              key(owner),
              number,
              newAuthority && key(newAuthority),
              [],
              program,
            ),
          );
          // spl-token 0.3 always leaves room for the key; the program reads only the tag.
          expect({ ...plain(ours), data: null }).toEqual({ ...theirs, data: null });
          expect(Buffer.from(theirs.data).subarray(0, ours.data.length)).toEqual(Buffer.from(ours.data));
          expect(ours.data.length).toBe(newAuthority === null ? 3 : 35);
        }
      }
    });

    it('makes a mint as spl-token does, with and without a freeze authority', () => {
      for (const freezeAuthority of [other, null]) {
        const ours = initializeMint2({
          mint,
          decimals: 6,
          mintAuthority: owner,
          freezeAuthority,
          tokenProgram,
        });
        const theirs = fromWeb3(
          createInitializeMint2Instruction(
            key(mint),
            6,
            key(owner),
            freezeAuthority && key(freezeAuthority),
            program,
          ),
        );
        expect({ ...plain(ours), data: null }).toEqual({ ...theirs, data: null });
        expect(Buffer.from(theirs.data).subarray(0, ours.data.length)).toEqual(Buffer.from(ours.data));
        expect(ours.data.length).toBe(freezeAuthority === null ? 35 : 67);
      }
    });
  });
}

describe('system instructions', () => {
  it('opens an account and moves lamports as web3.js does', () => {
    expect(
      plain(
        createAccount({ from: owner, account, lamports: 1_461_600n, sizeBytes: 82, owner: TOKEN_PROGRAM }),
      ),
    ).toEqual(
      fromWeb3(
        SystemProgram.createAccount({
          fromPubkey: key(owner),
          newAccountPubkey: key(account),
          lamports: 1_461_600,
          space: 82,
          programId: key(TOKEN_PROGRAM),
        }),
      ),
    );
    expect(plain(transfer({ from: owner, to: other, lamports: 5n }))).toEqual(
      fromWeb3(SystemProgram.transfer({ fromPubkey: key(owner), toPubkey: key(other), lamports: 5 })),
    );
  });
});

describe('isOnCurve', () => {
  it('agrees with web3.js on any 32 bytes', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        const address = namedAddress(name);
        expect(isOnCurve(address)).toBe(PublicKey.isOnCurve(address));
      }),
    );
  });
});
