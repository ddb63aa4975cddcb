import { type AccountInfo, Connection, type PublicKey, TransactionMessage } from '@solana/web3.js';
import * as sqds from '@sqds/multisig';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memo } from '../../../../../src/chain/memo.js';
import { MEMO_PROGRAM, SQUADS_PROGRAM, TOKEN_PROGRAM } from '../../../../../src/chain/programs.js';
import { BATCH, encodeAccount, VAULT_BATCH_TRANSACTION } from '../../../../../src/chain/squads/accounts.js';
import {
  batchTransactionAddress,
  multisigAddress,
  transactionAddress,
  vaultAddress,
} from '../../../../../src/chain/squads/addresses.js';
import * as batch from '../../../../../src/chain/squads/builders.js';
import * as proposal from '../../../../../src/chain/squads/builders.js';
import { multisigCreateV2 } from '../../../../../src/chain/squads/builders.js';
import {
  decodeVaultMessage,
  vaultMessage,
  vaultMessageInstructions,
} from '../../../../../src/chain/squads/message.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
} from '../../../../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../../../../src/chain/transaction/instruction.js';
import { compile } from '../../../../../src/chain/transaction/message.js';
import type { Address } from '../../../../../src/values/address.js';
import { fromWeb3, namedAddress, plain, publicKey, toWeb3 } from '../../../../support/oracle.js';

const createKey = namedAddress('create key');
const multisig = multisigAddress(createKey).address;
const vault = vaultAddress(multisig, 0).address;
const owner = namedAddress('owner');
const operator = namedAddress('operator');
const mint = namedAddress('mint');
const batchIndex = 258n;
const ref = { multisig, batchIndex };
const multisigPda = publicKey(multisig);
const theirRef = { multisigPda, transactionIndex: batchIndex };
const tokenProgram = TOKEN_PROGRAM;

const instructions: readonly Instruction[] = [
  memo('hello', [vault]),
  burnChecked({ account: namedAddress('tokens'), mint, owner: vault, amount: 5n, decimals: 6, tokenProgram }),
  createAssociatedTokenAccountIdempotent({ payer: vault, owner, mint, tokenProgram }),
];

describe('multisigCreateV2', () => {
  it('is what the SDK builds, members in the order given', () => {
    for (const optional of [null, namedAddress('authority')]) {
      const members = [
        { key: owner, permissions: 7 },
        { key: operator, permissions: 3 },
      ];
      const ours = multisigCreateV2({
        createKey,
        creator: operator,
        treasury: namedAddress('treasury'),
        configAuthority: optional,
        threshold: 2,
        members,
        timeLockSeconds: 60,
        rentCollector: optional,
      });
      const theirs = sqds.instructions.multisigCreateV2({
        treasury: publicKey(namedAddress('treasury')),
        creator: publicKey(operator),
        multisigPda,
        configAuthority: optional && publicKey(optional),
        threshold: 2,
        members: members.map(({ key, permissions }) => ({
          key: publicKey(key),
          permissions: { mask: permissions },
        })),
        timeLock: 60,
        createKey: publicKey(createKey),
        rentCollector: optional && publicKey(optional),
      });
      expect(plain(ours)).toEqual(fromWeb3(theirs));
    }
  });
});

describe('proposal instructions', () => {
  it('are what the SDK builds', () => {
    const member = publicKey(owner);
    for (const draft of [true, false]) {
      expect(plain(proposal.proposalCreate({ ...ref, creator: owner, rentPayer: operator, draft }))).toEqual(
        fromWeb3(
          sqds.instructions.proposalCreate({
            ...theirRef,
            creator: member,
            rentPayer: publicKey(operator),
            isDraft: draft,
          }),
        ),
      );
    }
    const { proposalActivate, proposalApprove, proposalCancelV2 } = sqds.instructions;
    for (const [ours, theirs] of [
      [proposal.proposalActivate, proposalActivate],
      [proposal.proposalApprove, proposalApprove],
      [proposal.proposalCancelV2, proposalCancelV2],
    ] as const) {
      expect(plain(ours({ ...ref, member: owner }))).toEqual(fromWeb3(theirs({ ...theirRef, member })));
    }
  });
});

describe('batch instructions', () => {
  it('create, add and close as the SDK does', () => {
    const theirs = { multisigPda, batchIndex };
    expect(plain(batch.batchCreate({ ...ref, creator: owner, rentPayer: operator, vaultIndex: 3 }))).toEqual(
      fromWeb3(
        sqds.instructions.batchCreate({
          ...theirs,
          creator: publicKey(owner),
          rentPayer: publicKey(operator),
          vaultIndex: 3,
        }),
      ),
    );
    const message = vaultMessage(vault, instructions);
    expect(
      plain(batch.batchAddTransaction({ ...ref, number: 7, member: owner, rentPayer: operator, message })),
    ).toEqual(
      fromWeb3(
        sqds.instructions.batchAddTransaction({
          ...theirs,
          vaultIndex: 0,
          member: publicKey(owner),
          rentPayer: publicKey(operator),
          transactionIndex: 7,
          ephemeralSigners: 0,
          transactionMessage: transactionMessage(instructions),
        }),
      ),
    );
    const rentCollector = namedAddress('collector');
    const theirClose = { ...theirs, rentCollector: publicKey(rentCollector) };
    expect(plain(batch.vaultBatchTransactionAccountClose({ ...ref, rentCollector, number: 9 }))).toEqual(
      fromWeb3(sqds.instructions.vaultBatchTransactionAccountClose({ ...theirClose, transactionIndex: 9 })),
    );
    expect(plain(batch.batchAccountsClose({ ...ref, rentCollector }))).toEqual(
      fromWeb3(sqds.instructions.batchAccountsClose(theirClose)),
    );
  });

  it('run a transaction with the accounts that the SDK reads from chain', async () => {
    const message = compile(vault, instructions);
    const accounts = new Map([
      [
        transactionAddress(multisig, batchIndex).address,
        encodeAccount(BATCH, {
          multisig,
          creator: operator,
          index: batchIndex,
          bump: 255,
          vaultIndex: 0,
          vaultBump: vaultAddress(multisig, 0).bump,
          size: 2,
          executedTransactionIndex: 1,
        }),
      ],
      [
        batchTransactionAddress(multisig, batchIndex, 2).address,
        encodeAccount(VAULT_BATCH_TRANSACTION, {
          bump: 255,
          ephemeralSignerBumps: new Uint8Array(),
          message,
        }),
      ],
    ]);
    const theirs = await sqds.instructions.batchExecuteTransaction({
      connection: new AccountsConnection(accounts),
      multisigPda,
      member: publicKey(operator),
      batchIndex,
      transactionIndex: 2,
    });
    const ours = batch.batchExecuteTransaction({ ...ref, number: 2, member: operator, vault, message });
    expect(plain(ours)).toEqual(fromWeb3(theirs.instruction));
  });
});

class AccountsConnection extends Connection {
  constructor(readonly accounts: ReadonlyMap<Address, Uint8Array>) {
    super('http://localhost:1');
  }

  override async getAccountInfo(key: PublicKey): Promise<AccountInfo<Buffer> | null> {
    const data = this.accounts.get(key.toBase58() as Address);
    return data === undefined
      ? null
      : { data: Buffer.from(data), owner: publicKey(SQUADS_PROGRAM), lamports: 1, executable: false };
  }
}

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

describe('vaultMessage', () => {
  it('is what the SDK makes of any instructions', () => {
    fc.assert(
      fc.property(fc.array(anInstruction, { maxLength: 12 }), (inner) => {
        const theirs = sqds.utils.transactionMessageToMultisigTransactionMessageBytes({
          message: transactionMessage(inner),
          vaultPda: publicKey(vault),
        });
        expect(Buffer.from(vaultMessage(vault, inner))).toEqual(Buffer.from(theirs));
      }),
      { numRuns: 200 },
    );
  });

  it('reads back into the same instructions, in order', () => {
    const message = decodeVaultMessage(vaultMessage(vault, instructions));
    const again = message && vaultMessageInstructions(message);
    expect(again?.map(({ program, data }) => ({ program, data: Buffer.from(data) }))).toEqual(
      instructions.map(({ program, data }) => ({ program, data: Buffer.from(data) })),
    );
    expect(again?.map(({ accounts }) => accounts.map(({ address }) => address))).toEqual(
      instructions.map(({ accounts }) => accounts.map(({ address }) => address)),
    );
    // Rights are the message's: the vault pays for the account, so it is writable in the memo as well.
    expect(again?.[0]?.accounts).toEqual([{ address: vault, signer: true, writable: true }]);
  });

  it('says nothing about a malformed message or one with lookup tables', () => {
    const message = compile(vault, instructions);
    expect(vaultMessageInstructions({ ...message, signers: 99 })).toBeUndefined();
    const lookup = { table: mint, writableIndexes: new Uint8Array(), readonlyIndexes: new Uint8Array() };
    expect(vaultMessageInstructions({ ...message, lookups: [lookup] })).toBeUndefined();
    expect(decodeVaultMessage(vaultMessage(vault, instructions).subarray(0, 60))).toBeUndefined();
  });
});
