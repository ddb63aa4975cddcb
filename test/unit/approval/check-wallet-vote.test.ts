/** What a wallet may have done to an approval before it signed it, and what not. */
import { ComputeBudgetProgram } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { buildApproval } from '../../../src/approval/build-approval.js';
import { MAX_PRIORITY_FEE_LAMPORTS } from '../../../src/approval/check-vote.js';
import { checkWalletVote } from '../../../src/approval/check-wallet-vote.js';
import { setComputeUnitLimit, setComputeUnitPrice } from '../../../src/chain/compute-budget.js';
import { memo } from '../../../src/chain/memo.js';
import { LIGHTHOUSE_PROGRAM, SYSTEM_PROGRAM } from '../../../src/chain/programs.js';
import { proposalApprove } from '../../../src/chain/squads/instructions/proposal.js';
import { transfer } from '../../../src/chain/system.js';
import {
  compileLegacyMessage,
  compileV0Message,
  partiallySign,
} from '../../../src/chain/transaction/compile.js';
import {
  type Instruction,
  readonlyAccount,
  writableAccount,
} from '../../../src/chain/transaction/instruction.js';
import { createKeypairSigner, generateKeypair } from '../../../src/chain/transaction/signer.js';
import { decodeTransaction, encodeTransaction } from '../../../src/chain/transaction/wire.js';
import { isFlywheelError } from '../../../src/errors/flywheel-error.js';
import { base58Encode } from '../../../src/values/base58.js';
import { multisig } from '../../support/batch-on-chain.js';
import { fromWeb3, namedAddress } from '../../support/oracle.js';

const owner = createKeypairSigner(generateKeypair());
const stranger = createKeypairSigner(generateKeypair());
const batchIndex = 12n;
const blockhash = namedAddress('blockhash');
const given = { multisig, batchIndex, owner: owner.address, blockhash };
const approve = proposalApprove({ multisig, batchIndex, member: owner.address });

/** What comes back of a wallet that puts these instructions into the transaction and signs it. */
const signed = (
  instructions: readonly Instruction[],
  more: { readonly blockhash?: string } = {},
): Uint8Array =>
  partiallySign(compileV0Message({ payer: owner.address, instructions, blockhash, ...more }), [owner]);

const lighthouse = (number: number, accounts: Instruction['accounts']): Instruction => ({
  program: LIGHTHOUSE_PROGRAM,
  accounts,
  data: Uint8Array.from([number, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 4]),
});
const ASSERT_ACCOUNT_INFO = 5;
const watched = namedAddress('token account');
const assertion = lighthouse(ASSERT_ACCOUNT_INFO, [readonlyAccount(watched)]);
const ofOwner = lighthouse(ASSERT_ACCOUNT_INFO, [readonlyAccount(owner.address)]);
const budget = [setComputeUnitLimit(80_000), setComputeUnitPrice(50_000n)];

function refusal(wire: Uint8Array): string {
  try {
    checkWalletVote(wire, given);
  } catch (error) {
    if (isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('checkWalletVote', () => {
  it('accepts the approval as it was given, signed', () => {
    const unsigned = decodeTransaction(
      buildApproval({ owner: owner.address, multisig, batchIndex, blockhash }),
    );
    const signature = owner.signNow(unsigned.messageBytes);
    const wire = encodeTransaction([signature], unsigned.messageBytes);
    expect(checkWalletVote(wire, given)).toEqual({
      wire,
      signature: base58Encode(signature),
      priorityFeeLamports: 0n,
      assertions: [],
    });
  });

  it.each([
    ['a limit and a price of compute units', [...budget, approve], 4_000n, []],
    ['a price alone', [setComputeUnitPrice(1n), approve], 2n, []],
    ['an assertion before', [assertion, approve], 0n, ['AssertAccountInfo']],
    [
      'assertions after, of the owner too',
      [approve, assertion, ofOwner],
      0n,
      ['AssertAccountInfo', 'AssertAccountInfo'],
    ],
    ['all of them', [...budget, approve, assertion], 4_000n, ['AssertAccountInfo']],
    ['an assertion on the clock', [approve, lighthouse(15, [])], 0n, ['AssertSysvarClock']],
    [
      'an assertion on two accounts',
      [approve, lighthouse(4, [readonlyAccount(watched), readonlyAccount(multisig)])],
      0n,
      ['AssertAccountDelta'],
    ],
  ])('accepts %s', (_name, instructions, priorityFeeLamports, assertions) => {
    expect(checkWalletVote(signed(instructions), given)).toMatchObject({ priorityFeeLamports, assertions });
  });

  it.each([
    [
      'a transfer of SOL',
      signed([approve, transfer({ from: owner.address, to: stranger.address, lamports: 1n })]),
      `an instruction of the program ${SYSTEM_PROGRAM}`,
    ],
    ['a memo', signed([approve, memo('hello', [])]), 'an instruction of the program Memo'],
    [
      'a fee that drains the payer',
      signed([setComputeUnitLimit(1_400_000), setComputeUnitPrice(10n ** 9n), approve]),
      `the limit is ${MAX_PRIORITY_FEE_LAMPORTS}`,
    ],
    [
      'a price twice',
      signed([setComputeUnitPrice(1n), setComputeUnitPrice(1n), approve]),
      'compute budget twice',
    ],
    [
      'another compute-budget instruction',
      signed([fromWeb3(ComputeBudgetProgram.requestHeapFrame({ bytes: 262_144 })), approve]),
      'a compute-budget instruction other than limit and price',
    ],
    [
      'a Lighthouse instruction that writes',
      signed([approve, lighthouse(0, [readonlyAccount(watched)])]),
      'MemoryWrite of the program Lighthouse',
    ],
    [
      'a Lighthouse instruction that closes',
      signed([approve, lighthouse(1, [readonlyAccount(watched)])]),
      'MemoryClose of the program Lighthouse',
    ],
    [
      'a Lighthouse instruction that calls another program',
      signed([approve, lighthouse(16, [watched, multisig, SYSTEM_PROGRAM].map(readonlyAccount))]),
      'AssertMerkleTreeAccount of the program Lighthouse',
    ],
    [
      'a Lighthouse instruction that nobody knows',
      signed([approve, lighthouse(18, [readonlyAccount(watched)])]),
      'an instruction of an unknown number',
    ],
    [
      'an assertion with more accounts than it has',
      signed([
        approve,
        lighthouse(ASSERT_ACCOUNT_INFO, [readonlyAccount(watched), readonlyAccount(multisig)]),
      ]),
      'which does more than to assert',
    ],
    [
      'an account that could be written to',
      signed([approve, lighthouse(ASSERT_ACCOUNT_INFO, [writableAccount(watched)])]),
      `could write to ${watched}`,
    ],
    ['another blockhash', signed([approve], { blockhash: namedAddress('other') }), 'is for the blockhash'],
    [
      'another batch',
      signed([proposalApprove({ multisig, batchIndex: 13n, member: owner.address })]),
      'for the proposal',
    ],
    ['a second vote', signed([approve, approve]), '2 Squads instructions'],
    ['no vote', signed(budget), '0 Squads instructions'],
    [
      'another payer',
      partiallySign(compileV0Message({ payer: stranger.address, instructions: [approve], blockhash }), [
        stranger,
        owner,
      ]),
      `is paid by ${stranger.address}`,
    ],
    [
      'the older form of a message',
      partiallySign(compileLegacyMessage({ payer: owner.address, instructions: [approve], blockhash }), [
        owner,
      ]),
      'no longer of version 0',
    ],
    [
      'no signature',
      partiallySign(compileV0Message({ payer: owner.address, instructions: [approve], blockhash }), []),
      `not signed by ${owner.address}`,
    ],
    [
      'the signature of something else',
      encodeTransaction(
        decodeTransaction(signed([approve, assertion])).signatures,
        decodeTransaction(signed([approve])).messageBytes,
      ),
      'a wrong signature',
    ],
    ['bytes that are no transaction', Uint8Array.of(1, 2, 3), 'is not a transaction'],
  ])('refuses %s, and says so', (_name, wire, reason) => {
    const message = refusal(wire);
    expect(message).toContain('What the wallet has signed is not what it was given: ');
    expect(message).toContain(reason);
  });
});
