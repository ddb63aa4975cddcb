import { TransactionMessage } from '@solana/web3.js';
import * as sqds from '@sqds/multisig';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '../../../../src/chain/programs.js';
import { memo } from '../../../../src/chain/small-programs.js';
import {
  decodeVaultMessage,
  encodeVaultMessage,
  vaultMessageInstructions,
} from '../../../../src/chain/squads/message.js';
import { createAssociatedTokenAccountIdempotent } from '../../../../src/chain/tokens/instructions.js';
import { compile, type Instruction } from '../../../../src/chain/transaction/message.js';
import { namedAddress, publicKey, toWeb3 } from '../../../support/oracle.js';

const [vault, owner, operator, mint] = ['vault', 'owner', 'operator', 'mint'].map(namedAddress) as [
  never,
  never,
  never,
  never,
];
const instructions: readonly Instruction[] = [
  memo('hello', [vault]),
  createAssociatedTokenAccountIdempotent({ payer: vault, owner, mint, tokenProgram: TOKEN_PROGRAM }),
];

const transactionMessage = (inner: readonly Instruction[]): TransactionMessage =>
  new TransactionMessage({
    payerKey: publicKey(vault),
    recentBlockhash: publicKey(vault).toBase58(),
    instructions: inner.map(toWeb3),
  });

const anAddress = fc.constantFrom(
  vault,
  owner,
  operator,
  mint,
  MEMO_PROGRAM,
  ...Array.from({ length: 6 }, (_, n) => namedAddress(`key ${n}`)),
);
const anInstruction: fc.Arbitrary<Instruction> = fc.record({
  program: anAddress,
  accounts: fc.array(fc.record({ address: anAddress, signer: fc.boolean(), writable: fc.boolean() }), {
    maxLength: 9,
  }),
  data: fc.uint8Array({ maxLength: 400 }),
});

describe('encodeVaultMessage', () => {
  it('is what the SDK makes of any instructions', () => {
    fc.assert(
      fc.property(fc.array(anInstruction, { maxLength: 12 }), (inner) => {
        const theirs = sqds.utils.transactionMessageToMultisigTransactionMessageBytes({
          message: transactionMessage(inner),
          vaultPda: publicKey(vault),
        });
        expect(Buffer.from(encodeVaultMessage(compile(vault, inner)))).toEqual(Buffer.from(theirs));
      }),
      { numRuns: 200 },
    );
  });

  it('reads back into the same instructions, in order', () => {
    const message = decodeVaultMessage(encodeVaultMessage(compile(vault, instructions)));
    const again = message && vaultMessageInstructions(message);
    expect(again?.map(({ program, data }) => ({ program, data: Buffer.from(data) }))).toEqual(
      instructions.map(({ program, data }) => ({ program, data: Buffer.from(data) })),
    );
    expect(again?.map(({ accounts }) => accounts.map(({ address }) => address))).toEqual(
      instructions.map(({ accounts }) => accounts.map(({ address }) => address)),
    );
    // Permissions belong to the message: the vault pays for the account, so it is writable in the memo too.
    expect(again?.[0]?.accounts).toEqual([{ address: vault, signer: true, writable: true }]);
  });

  it('says nothing about a malformed message or one with lookup tables', () => {
    const message = compile(vault, instructions);
    expect(vaultMessageInstructions({ ...message, signers: 99 })).toBeUndefined();
    const lookup = { table: mint, writableIndexes: new Uint8Array(), readonlyIndexes: new Uint8Array() };
    expect(vaultMessageInstructions({ ...message, lookups: [lookup] })).toBeUndefined();
    expect(
      decodeVaultMessage(encodeVaultMessage(compile(vault, instructions)).subarray(0, 60)),
    ).toBeUndefined();
  });
});
