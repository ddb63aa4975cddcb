import {
  AddressLookupTableAccount,
  ComputeBudgetProgram,
  SystemProgram,
  Transaction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { addSignature, buildApproval } from '../../../src/approval/build-approval.js';
import { checkVote, type ExpectedVote, MAX_PRIORITY_FEE_LAMPORTS } from '../../../src/approval/check-vote.js';
import { setComputeUnitLimit, setComputeUnitPrice } from '../../../src/chain/compute-budget.js';
import { memo } from '../../../src/chain/memo.js';
import { batchExecuteTransaction } from '../../../src/chain/squads/instructions/batch.js';
import {
  proposalActivate,
  proposalApprove,
  proposalCancelV2,
} from '../../../src/chain/squads/instructions/proposal.js';
import { vaultInnerMessage } from '../../../src/chain/squads/instructions/vault-message.js';
import { encodeInstruction } from '../../../src/chain/squads/layouts/instructions.js';
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
import type { Address } from '../../../src/values/address.js';
import { multisig, vaultAt } from '../../support/batch-on-chain.js';
import { fromWeb3, namedAddress, publicKey, toWeb3 } from '../../support/oracle.js';

const owner = createKeypairSigner(generateKeypair());
const operator = createKeypairSigner(generateKeypair());
const stranger = createKeypairSigner(generateKeypair());
const batchIndex = 12n;
const blockhash = namedAddress('blockhash');
const expected: ExpectedVote = {
  kind: 'approve',
  multisig,
  batchIndex,
  member: owner.address,
  feePayers: [operator.address, owner.address],
};
const approve = proposalApprove({ multisig, batchIndex, member: owner.address });

/** An approval as the service issues it: paid and signed by the operator. */
const issue = (instructions: readonly Instruction[], payer: Address = operator.address): Uint8Array => {
  const signers = payer === operator.address ? [operator] : [];
  return partiallySign(compileV0Message({ payer, instructions, blockhash }), signers);
};

function refusal(wire: Uint8Array, wanted: ExpectedVote = expected): string {
  try {
    checkVote(wire, wanted);
  } catch (error) {
    if (isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('checkVote', () => {
  it('accepts an approval as the service issues it, and says whose signature is missing', () => {
    const wire = issue([approve]);
    expect(checkVote(wire, expected)).toEqual({
      version: 0,
      feePayer: operator.address,
      blockhash,
      priorityFeeLamports: 0n,
      missingSignatures: [owner.address],
      messageBytes: decodeTransaction(wire).messageBytes,
    });
    expect(checkVote(addSignature(wire, owner), expected).missingSignatures).toEqual([]);
  });

  it('accepts a fresh approval that the owner pays, and the same in legacy form', () => {
    const fresh = buildApproval({ owner: owner.address, multisig, batchIndex, blockhash });
    expect(checkVote(fresh, expected)).toMatchObject({
      feePayer: owner.address,
      missingSignatures: [owner.address],
    });
    const legacy = compileLegacyMessage({ payer: owner.address, instructions: [approve], blockhash });
    expect(checkVote(partiallySign(legacy, [owner]), expected).version).toBe('legacy');
  });

  it('accepts the keys in the order in which other libraries put them', () => {
    const theirs = new Transaction({ feePayer: publicKey(operator.address), recentBlockhash: blockhash });
    theirs.add(toWeb3(setComputeUnitPrice(1_000n)), toWeb3(approve));
    const wire = theirs.serialize({ requireAllSignatures: false, verifySignatures: false });
    expect(checkVote(wire, expected).missingSignatures).toHaveLength(2);
  });

  it('accepts a limit and a price of compute units as long as the fee stays bounded', () => {
    const most = (MAX_PRIORITY_FEE_LAMPORTS * 1_000_000n) / 50_000n;
    const wire = (price: bigint) => issue([setComputeUnitLimit(50_000), setComputeUnitPrice(price), approve]);
    expect(checkVote(wire(most), expected).priorityFeeLamports).toBe(MAX_PRIORITY_FEE_LAMPORTS);
    expect(refusal(wire(most + 1n))).toContain('lamports of priority fee');
  });
});

const otherMultisig = namedAddress('another multisig');
const advanceNonce = fromWeb3(
  SystemProgram.nonceAdvance({
    noncePubkey: publicKey(namedAddress('nonce')),
    authorizedPubkey: publicKey(owner.address),
  }),
);
const heap = fromWeb3(ComputeBudgetProgram.requestHeapFrame({ bytes: 262_144 }));
const execute = batchExecuteTransaction({
  multisig,
  batchIndex,
  number: 1,
  member: owner.address,
  vault: vaultAt.address,
  message: vaultInnerMessage(vaultAt.address, []),
});
const withData = (data: Uint8Array): Instruction => ({ ...approve, data });
const swapped = (index: number, address: Address): Instruction => ({
  ...approve,
  accounts: approve.accounts.map((meta, at) => (at === index ? { ...meta, address } : meta)),
});

/** An approval whose multisig account comes from a lookup table. */
function withLookupTable(): Uint8Array {
  const table = new AddressLookupTableAccount({
    key: publicKey(namedAddress('table')),
    state: {
      deactivationSlot: 2n ** 64n - 1n,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
      addresses: [publicKey(multisig)],
    },
  });
  const message = new TransactionMessage({
    payerKey: publicKey(operator.address),
    recentBlockhash: blockhash,
    instructions: [toWeb3(approve)],
  }).compileToV0Message([table]);
  return new VersionedTransaction(message).serialize();
}

/** The issued approval with its decoded message changed, and all signatures left out. */
function tampered(change: (message: ReturnType<typeof decodeTransaction>['message']) => object): Uint8Array {
  const { signatures, message } = decodeTransaction(issue([approve]));
  return encodeTransaction(
    signatures.map(() => new Uint8Array(64)),
    { ...message, ...change(message) },
  );
}

const ATTACKS: readonly (readonly [string, () => Uint8Array, string])[] = [
  [
    'another multisig',
    () => issue([proposalApprove({ multisig: otherMultisig, batchIndex, member: owner.address })]),
    `for the multisig ${otherMultisig}`,
  ],
  [
    'another batch of the same multisig',
    () => issue([proposalApprove({ multisig, batchIndex: 13n, member: owner.address })]),
    'for the proposal',
  ],
  ['a proposal that is none', () => issue([swapped(2, namedAddress('no proposal'))]), 'for the proposal'],
  [
    'another member',
    () => issue([proposalApprove({ multisig, batchIndex, member: stranger.address })]),
    `not by the member ${owner.address}`,
  ],
  [
    'another member beside the owner',
    () => issue([swapped(1, stranger.address), memo('', [owner.address])]),
    'signature of',
  ],
  ['the fee payer as member', () => issue([swapped(1, operator.address)]), 'not by the member'],
  [
    'two approvals',
    () => issue([approve, proposalApprove({ multisig, batchIndex: 13n, member: owner.address })]),
    '2 Squads instructions',
  ],
  ['the same approval twice', () => issue([approve, approve]), '2 Squads instructions'],
  ['no instruction', () => tampered(() => ({ instructions: [] })), '0 Squads instructions'],
  [
    'a vote to cancel',
    () => issue([proposalCancelV2({ multisig, batchIndex, member: owner.address })]),
    'proposalCancelV2 instead of',
  ],
  [
    'an activation',
    () => issue([proposalActivate({ multisig, batchIndex, member: owner.address })]),
    'proposalActivate instead of',
  ],
  ['an execution', () => issue([execute]), 'batchExecuteTransaction instead of'],
  [
    'a rejection in its bytes',
    () => issue([withData(encodeInstruction('proposalReject', { memo: null }))]),
    'proposalReject instead of',
  ],
  [
    'an unknown Squads instruction',
    () => issue([withData(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 0))]),
    'of an unknown name',
  ],
  [
    'a memo in the approval',
    () => issue([withData(encodeInstruction('proposalApprove', { memo: 'hidden' }))]),
    'more than it needs',
  ],
  [
    'bytes behind the approval',
    () => issue([withData(Uint8Array.from([...approve.data, 1]))]),
    'more than it needs',
  ],
  ['cut data', () => issue([withData(Uint8Array.from(approve.data).subarray(0, 8))]), 'more than it needs'],
  [
    'an account too many in the approval',
    () => issue([{ ...approve, accounts: [...approve.accounts, readonlyAccount(namedAddress('extra'))] }]),
    '4 accounts instead of 3',
  ],
  [
    'an account too few in the approval',
    () => issue([{ ...approve, accounts: approve.accounts.slice(0, 2) }]),
    '2 accounts instead of 3',
  ],
  [
    'a transfer of the owner’s SOL',
    () => issue([transfer({ from: owner.address, to: stranger.address, lamports: 1n }), approve]),
    'of the program 1111',
  ],
  ['a durable nonce', () => issue([advanceNonce, approve]), 'durable nonce'],
  ['a memo', () => issue([approve, memo('hello', [])]), 'of the program Memo'],
  [
    'another program with the data of an approval',
    () => issue([{ ...approve, program: namedAddress('fake squads') }]),
    'of the program',
  ],
  ['a larger heap', () => issue([heap, approve]), 'other than limit and price'],
  [
    'a huge priority fee',
    () => issue([setComputeUnitLimit(1_400_000), setComputeUnitPrice(10_000_000_000n), approve]),
    '14000000000 lamports',
  ],
  [
    'a huge price without a limit',
    () => issue([setComputeUnitPrice(8_000_000n), approve]),
    '11200000 lamports',
  ],
  [
    'the largest price there is',
    () => issue([setComputeUnitPrice(2n ** 64n - 1n), approve]),
    'lamports of priority fee',
  ],
  ['two prices', () => issue([setComputeUnitPrice(1n), setComputeUnitPrice(1n), approve]), 'twice'],
  ['two limits', () => issue([setComputeUnitLimit(1), setComputeUnitLimit(1), approve]), 'twice'],
  [
    'a compute budget with an account',
    () => issue([{ ...setComputeUnitLimit(1), accounts: [readonlyAccount(stranger.address)] }, approve]),
    'other than limit and price',
  ],
  ['an unknown fee payer', () => issue([approve], stranger.address), `paid by ${stranger.address}`],
  ['a third signer', () => issue([approve, memo('x', [stranger.address])]), 'signature of'],
  ['a lookup table', withLookupTable, 'lookup table'],
  [
    'an account that nothing uses',
    () =>
      tampered(({ staticKeys, readonlyUnsigned }) => ({
        staticKeys: [...staticKeys, namedAddress('idle')],
        readonlyUnsigned: readonlyUnsigned + 1,
      })),
    'does not need',
  ],
  [
    'a program that could be written',
    () =>
      issue(
        [{ ...approve, accounts: [...approve.accounts] }].map((one) => ({
          ...one,
          accounts: one.accounts.map((meta, at) => (at === 0 ? writableAccount(meta.address) : meta)),
        })),
      ),
    'could write to',
  ],
  [
    'an account named twice',
    () => tampered(({ staticKeys }) => ({ staticKeys: [...staticKeys, multisig] })),
    'twice',
  ],
  [
    'a header that asks for more signatures than keys',
    () => tampered(() => ({ requiredSignatures: 200 })),
    'header',
  ],
  ['a header without signatures', () => tampered(() => ({ requiredSignatures: 0 })), 'header'],
  ['a header whose payer is readonly', () => tampered(() => ({ readonlySigned: 2 })), 'header'],
  [
    'an index beyond the accounts',
    () =>
      tampered(({ instructions }) => ({
        instructions: instructions.map((one) => ({ ...one, accountIndexes: Uint8Array.of(0, 1, 99) })),
      })),
    'account 99',
  ],
  [
    'a missing place for a signature',
    () => encodeTransaction([new Uint8Array(64)], decodeTransaction(issue([approve])).messageBytes),
    '1 signatures',
  ],
  [
    'a forged signature of the operator',
    () => {
      const wire = issue([approve]);
      wire[5] = (wire[5] ?? 0) ^ 1;
      return wire;
    },
    'a wrong signature of',
  ],
  [
    'a byte changed after the operator signed',
    () => {
      const wire = issue([approve]);
      wire[wire.length - 40] = (wire[wire.length - 40] ?? 0) ^ 1;
      return wire;
    },
    'a wrong signature of',
  ],
  ['bytes behind the transaction', () => Uint8Array.from([...issue([approve]), 0]), 'not a transaction'],
  ['a cut transaction', () => issue([approve]).subarray(0, 150), 'not a transaction'],
  [
    'a message of version 1',
    () => {
      const wire = issue([approve]);
      wire[129] = 0x81;
      return wire;
    },
    'not a transaction',
  ],
  ['no bytes at all', () => new Uint8Array(), 'not a transaction'],
  ['more bytes than a packet', () => new Uint8Array(2_000), '2000 bytes'],
];

describe('checkVote refuses', () => {
  it.each(ATTACKS)('%s', (_name, attack, reason) => {
    const message = refusal(attack());
    expect(message).not.toBe('accepted');
    expect(message).toContain(reason);
  });

  it('bytes that are none, keeping the error that says so for those who debug', () => {
    expect(() => checkVote(new Uint8Array(), expected)).toThrow(
      expect.objectContaining({ code: 'ERR_APPROVAL_REFUSED', cause: expect.any(Error) }),
    );
  });

  it('an approval that another multisig, batch, owner or payer was expected for', () => {
    const wire = issue([approve]);
    for (const other of [
      { multisig: otherMultisig },
      { batchIndex: 13n },
      { member: stranger.address },
      { feePayers: [owner.address] },
      { feePayers: [] },
    ]) {
      expect(refusal(wire, { ...expected, ...other })).not.toBe('accepted');
    }
  });

  it('nothing that differs in a single byte from what is accepted, except blockhash and missing signature', () => {
    const wire = issue([approve]);
    const { messageBytes } = decodeTransaction(wire);
    const start = wire.length - messageBytes.length;
    const zeros = new Uint8Array(64);
    const keys = decodeTransaction(wire).message.staticKeys.length;
    const blockhashAt = start + 5 + 32 * keys;
    for (let at = start; at < wire.length; at += 1) {
      if (at >= blockhashAt && at < blockhashAt + 32) continue;
      const changed = Uint8Array.from(wire);
      changed.set(zeros, 1);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect([at, refusal(changed)]).not.toEqual([at, 'accepted']);
    }
  });
});

describe('addSignature', () => {
  it('changes nothing but the place of the signature', () => {
    const wire = issue([approve]);
    const signed = Buffer.from(addSignature(wire, owner));
    const signature = owner.signNow(wire.subarray(129));
    expect(signed.toString('hex')).toBe(
      Buffer.concat([wire.subarray(0, 65), signature, wire.subarray(129)]).toString('hex'),
    );
  });

  it('signs in the first place, too', () => {
    const fresh = buildApproval({ owner: owner.address, multisig, batchIndex, blockhash });
    expect(checkVote(addSignature(fresh, owner), expected).missingSignatures).toEqual([]);
  });

  it('refuses a signer who is not asked', () => {
    expect(() => addSignature(issue([approve]), stranger)).toThrow(stranger.address);
    const wire = tampered(() => ({ requiredSignatures: 1 }));
    expect(() => addSignature(wire, owner)).toThrow(owner.address);
  });
});
