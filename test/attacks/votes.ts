/** Approvals that are not exactly one approval of this batch. */
import { SystemProgram } from '@solana/web3.js';
import { setComputeUnitLimit, setComputeUnitPrice } from '../../src/chain/compute-budget.js';
import { memo } from '../../src/chain/memo.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../src/chain/programs.js';
import {
  proposalActivate,
  proposalApprove,
  proposalCancelV2,
  proposalReject,
} from '../../src/chain/squads/instructions/proposal.js';
import { transfer } from '../../src/chain/system.js';
import { burnChecked } from '../../src/chain/tokens/instructions.js';
import { compileV0Message, partiallySign } from '../../src/chain/transaction/compile.js';
import {
  type Instruction,
  readonlyAccount,
  writableAccount,
} from '../../src/chain/transaction/instruction.js';
import { decodeTransaction, encodeTransaction, type WireMessage } from '../../src/chain/transaction/wire.js';
import type { Address } from '../../src/values/address.js';
import { batchIndex, multisig, operator, owner } from '../support/batch-on-chain.js';
import { fromWeb3, namedAddress, publicKey } from '../support/oracle.js';
import { type Attack, attack } from './attack.js';
import { blockhash, stranger, type World } from './world.js';

const approval = proposalApprove({ multisig, batchIndex, member: owner });

const built = (instructions: readonly Instruction[], payer: Address = operator): Uint8Array =>
  partiallySign(compileV0Message({ payer, instructions, blockhash }), []);

/** An approval made of other instructions. */
const made = (
  name: string,
  reason: string,
  instructions: (world: World) => readonly Instruction[],
  payer?: Address,
): Attack =>
  attack(`approval: ${name}`, reason, (world) => {
    world.wire = built(instructions(world), payer);
  });

/** An approval whose bytes are changed. */
const bytes = (name: string, reason: string, change: (wire: Uint8Array) => Uint8Array): Attack =>
  attack(`approval: ${name}`, reason, (world) => {
    world.wire = change(world.wire);
  });

/** An approval whose message is changed. */
const message = (name: string, reason: string, change: (message: WireMessage) => WireMessage): Attack =>
  bytes(name, reason, (wire) => {
    const decoded = decodeTransaction(wire);
    return encodeTransaction(decoded.signatures, change(decoded.message));
  });

const nonce = fromWeb3(
  SystemProgram.nonceAdvance({ noncePubkey: publicKey(stranger), authorizedPubkey: publicKey(owner) }),
);

export const VOTE_ATTACKS: readonly Attack[] = [
  made('of another multisig', 'is for the multisig', () => [
    proposalApprove({ multisig: namedAddress('another'), batchIndex, member: owner }),
  ]),
  made('of the next batch', 'is for the proposal', () => [
    proposalApprove({ multisig, batchIndex: batchIndex + 1n, member: owner }),
  ]),
  made('of the batch before', 'is for the proposal', () => [
    proposalApprove({ multisig, batchIndex: batchIndex - 1n, member: owner }),
  ]),
  made('by the operator', 'is not by the member', () => [
    proposalApprove({ multisig, batchIndex, member: operator }),
  ]),
  made('by a stranger', 'is not by the member', () => [
    proposalApprove({ multisig, batchIndex, member: stranger }),
  ]),
  made('a rejection', 'proposalReject', () => [proposalReject({ multisig, batchIndex, member: owner })]),
  made('a cancellation', 'proposalCancelV2', () => [
    proposalCancelV2({ multisig, batchIndex, member: owner }),
  ]),
  made('an activation', 'instead of proposalApprove', () => [
    proposalActivate({ multisig, batchIndex, member: owner }),
  ]),
  made('twice', '2 Squads instructions', () => [approval, approval]),
  made('of two batches', '2 Squads instructions', () => [
    approval,
    proposalApprove({ multisig, batchIndex: 8n, member: owner }),
  ]),
  made('without a vote', '0 Squads instructions', () => [setComputeUnitLimit(1_000)], owner),
  made('with a transfer of SOL behind', `program ${SYSTEM_PROGRAM}`, () => [
    approval,
    transfer({ from: owner, to: stranger, lamports: 1n }),
  ]),
  made('with a transfer of SOL before', `program ${SYSTEM_PROGRAM}`, () => [
    transfer({ from: owner, to: stranger, lamports: 1n }),
    approval,
  ]),
  made('with a durable nonce', 'durable nonce', () => [nonce, approval]),
  made('with a memo', 'an instruction of the program', () => [approval, memo('x', [owner])]),
  made('with a burn', 'an instruction of the program', ({ flywheel }) => [
    approval,
    burnChecked({ ...flywheel, account: flywheel.vaultTokenAccount, owner, amount: 1n }),
  ]),
  made('with a draining priority fee', 'lamports of priority fee', () => [
    setComputeUnitLimit(1_400_000),
    setComputeUnitPrice(10_000_000_000n),
    approval,
  ]),
  made('with a draining price and no limit', 'lamports of priority fee', () => [
    setComputeUnitPrice(1_000_000_000_000n),
    approval,
  ]),
  made('with two prices', 'sets its compute budget twice', () => [
    setComputeUnitPrice(1n),
    setComputeUnitPrice(2n),
    approval,
  ]),
  made('with two limits', 'sets its compute budget twice', () => [
    setComputeUnitLimit(1),
    setComputeUnitLimit(2),
    approval,
  ]),
  made('paid by a stranger', 'is paid by', () => [approval], stranger),
  made('that a stranger signs too', 'asks for a signature of', () => [
    { ...approval, accounts: [...approval.accounts, { address: stranger, signer: true, writable: false }] },
  ]),
  made('with one account more', 'names 4 accounts', () => [
    { ...approval, accounts: [...approval.accounts, readonlyAccount(stranger)] },
  ]),
  made('with one account less', 'accounts instead of', () => [
    { ...approval, accounts: approval.accounts.slice(0, -1) },
  ]),
  made('with accounts in another order', 'is for the multisig', () => [
    { ...approval, accounts: [...approval.accounts].reverse() },
  ]),
  made('with data behind it', 'carries more than it needs', () => [
    { ...approval, data: Buffer.concat([approval.data as Uint8Array, Buffer.of(0)]) },
  ]),
  made('with a memo inside', 'carries more than it needs', () => [
    {
      ...approval,
      data: Buffer.concat([(approval.data as Uint8Array).slice(0, 8), Buffer.from([1, 1, 0, 0, 0, 120])]),
    },
  ]),
  made('that could write to the multisig', 'which it need not', () => [
    { ...approval, accounts: [writableAccount(multisig), ...approval.accounts.slice(1)] },
  ]),
  bytes('with trailing bytes', 'bytes are left over', (wire) => Buffer.concat([wire, Buffer.of(0)])),
  bytes('cut short by one byte', 'the bytes end', (wire) => wire.slice(0, -1)),
  bytes('cut in its signatures', 'the bytes end', (wire) => wire.slice(0, 40)),
  bytes('empty of all but a count', 'the bytes end', () => Uint8Array.of(1)),
  bytes('of an unknown version', 'unknown message version 1', (wire) => {
    const changed = Uint8Array.from(wire);
    changed[1 + 2 * 64] = 0x81;
    return changed;
  }),
  bytes('with a length that is not minimal', 'shortest form', (wire) =>
    Buffer.concat([Buffer.of(0x82, 0), wire.subarray(1)]),
  ),
  bytes('longer than a packet', 'a transaction has at most', (wire) =>
    Buffer.concat([wire, Buffer.alloc(1_300)]),
  ),
  bytes('with a wrong signature of the operator', 'wrong signature', (wire) => {
    const changed = Uint8Array.from(wire);
    changed.fill(7, 1, 65);
    return changed;
  }),
  bytes('with a wrong signature of the owner', 'wrong signature', (wire) => {
    const changed = Uint8Array.from(wire);
    changed.fill(7, 65, 129);
    return changed;
  }),
  message('with a lookup table', 'lookup table', (old) => ({
    ...old,
    lookups: [{ table: stranger, writableIndexes: Uint8Array.of(0), readonlyIndexes: new Uint8Array() }],
  })),
  message('with a key twice', 'names an account twice', (old) => ({
    ...old,
    staticKeys: [...old.staticKeys, old.staticKeys[0] as Address],
  })),
  message('with a key that nothing needs', 'which it does not need', (old) => ({
    ...old,
    staticKeys: [...old.staticKeys, stranger],
    readonlyUnsigned: old.readonlyUnsigned + 1,
  })),
  message('with fewer signatures asked for', 'signatures and asks for', (old) => ({
    ...old,
    requiredSignatures: 1,
  })),
  message('with more read-only signers than signers', 'header', (old) => ({ ...old, readonlySigned: 9 })),
  message('with more read-only others than there are', 'header', (old) => ({
    ...old,
    readonlyUnsigned: 99,
  })),
  message('that lets everything be written', 'which it need not', (old) => ({
    ...old,
    readonlyUnsigned: 0,
  })),
  message('that names an account beyond its list', 'names account', (old) => ({
    ...old,
    instructions: old.instructions.map((one) => ({ ...one, accountIndexes: Uint8Array.of(0, 1, 200) })),
  })),
  message('for a program beyond its list', 'names account', (old) => ({
    ...old,
    instructions: old.instructions.map((one) => ({ ...one, programIndex: 200 })),
  })),
  message('of a program that only looks like Squads', 'an instruction of the program', (old) => ({
    ...old,
    staticKeys: old.staticKeys.map((key) => (key === SQUADS_PROGRAM ? namedAddress('SQDS4') : key)),
  })),
];
