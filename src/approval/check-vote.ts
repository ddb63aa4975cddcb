/** Checks that a transaction is exactly one vote on one batch and nothing else, before and after signing. */
import { MAX_PRIORITY_FEE_LAMPORTS } from '../chain/chain.js';
import { COMPUTE_BUDGET_PROGRAM, SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.js';
import { decodeComputeBudget, decodeLighthouse, priorityFee } from '../chain/small-programs.js';
import {
  type BatchRef,
  type DecodedApproval,
  decodeApproval,
  VOTES,
  type VoteKind,
  voteInstruction,
  voteMessage,
} from '../chain/squads/builders.js';
import { instructionName } from '../chain/squads/instructions.js';
import {
  type CompiledInstruction,
  type Instruction,
  isSigner,
  isWritable,
  MAX_COMPUTE_UNITS,
  TRANSACTION_SIZE_LIMIT_BYTES,
} from '../chain/transaction/message.js';
import { type KeypairSigner, verifySignature } from '../chain/transaction/sign.js';
import {
  decodeTransaction,
  encodeTransaction,
  unsigned,
  type WireMessage,
  type WireTransaction,
} from '../chain/transaction/wire.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { type ReadonlyBytes, sameBytes } from '../values/bytes.js';
import { ensure, refuse } from './refuse.js';

interface ExpectedVote extends BatchRef {
  readonly kind: VoteKind;
  readonly member: Address;
  readonly feePayers: readonly Address[];
}

export interface CheckedVote {
  readonly version: 'legacy' | 0;
  readonly signature: string;
  readonly feePayer: Address;
  readonly blockhash: string;
  /** Maximum, beyond the signature fees. */
  readonly priorityFeeLamports: bigint;
  /** Signatures that are present have been verified. */
  readonly missingSignatures: readonly Address[];
  readonly messageBytes: ReadonlyBytes;
}

/** `SystemInstruction::AdvanceNonceAccount` (solana-system-interface). */
const ADVANCE_NONCE = 4;

function decode(wire: Uint8Array, the: string): DecodedApproval {
  ensure(
    wire.length <= TRANSACTION_SIZE_LIMIT_BYTES,
    () => `${the} has ${wire.length} bytes; the limit of a transaction is ${TRANSACTION_SIZE_LIMIT_BYTES}`,
  );
  try {
    return decodeApproval(wire);
  } catch (error) {
    const reason = (error as Error).message.replace(/^Not a transaction: |\.$/g, '');
    return refuse(`${the} is not a transaction: ${reason}`, error);
  }
}

function checkHeader({ signatures, message }: WireTransaction, the: string): void {
  const { signers, writableSigners, writableNonSigners, staticKeys, lookups } = message;
  ensure(lookups.length === 0, () => `${the} uses a lookup table, so its accounts cannot be checked`);
  ensure(new Set(staticKeys).size === staticKeys.length, () => `${the} lists an account twice`);
  ensure(
    writableSigners > 0 && staticKeys.length >= signers && writableNonSigners >= 0,
    () => 'The header of the approval does not match its accounts',
  );
  ensure(
    signatures.length === signers,
    () => `${the} has ${signatures.length} signatures and needs ${signers}`,
  );
}

function checkSigners(message: WireMessage, expected: ExpectedVote, the: string): Address {
  const signers = message.staticKeys.slice(0, message.signers);
  const feePayer = signers[0] as Address;
  ensure(
    expected.feePayers.includes(feePayer),
    () => `${the} is paid by ${feePayer}, expected ${expected.feePayers.join(' or ')}`,
  );
  ensure(signers.includes(expected.member), () => `${the} is not from the member ${expected.member}`);
  const stranger = signers.find((signer) => signer !== feePayer && signer !== expected.member);
  ensure(
    stranger === undefined,
    () => `${the} needs a signature of ${stranger}, who is neither its fee payer nor the voting member`,
  );
  return feePayer;
}

function toInstruction(message: WireMessage, wire: CompiledInstruction, the: string): Instruction {
  const key = (index: number): Address =>
    message.staticKeys[index] ??
    refuse(`${the} refers to account ${index}, but has only ${message.staticKeys.length}`);
  return {
    program: key(wire.programIndex),
    accounts: Array.from(wire.accountIndexes, (index) => ({
      address: key(index),
      signer: isSigner(message, index),
      writable: isWritable(message, index),
    })),
    data: wire.data,
  };
}

function nameOf({ program, data }: Instruction): string {
  if (program === SQUADS_PROGRAM)
    return `the Squads instruction ${instructionName(data) ?? 'of an unknown name'}`;
  if (program === SYSTEM_PROGRAM && data[0] === ADVANCE_NONCE) return 'a durable nonce, which never expires';
  if (program === COMPUTE_BUDGET_PROGRAM) return 'a compute-budget instruction other than limit and price';
  return `an instruction of the program ${program}`;
}

function addedFee(instructions: readonly Instruction[], the: string): bigint {
  let units: number | undefined;
  let microLamports: bigint | undefined;
  for (const instruction of instructions) {
    const budget = decodeComputeBudget(instruction);
    ensure(
      budget !== undefined && instruction.accounts.length === 0,
      () => `${the} contains ${nameOf(instruction)}`,
    );
    const twice = budget.kind === 'unitLimit' ? units !== undefined : microLamports !== undefined;
    ensure(!twice, () => `${the} sets its compute budget twice`);
    if (budget.kind === 'unitLimit') units = budget.units;
    else microLamports = budget.microLamports;
  }
  // Without an explicit limit the cluster grants less than this; assume the maximum.
  return priorityFee(Math.min(units ?? MAX_COMPUTE_UNITS, MAX_COMPUTE_UNITS), microLamports ?? 0n);
}

function checkInstruction(actual: Instruction, expected: ExpectedVote, the: string): void {
  const { instruction } = VOTES[expected.kind];
  const wanted = voteInstruction(expected.kind, expected);
  const [multisig, member, proposal] = wanted.accounts;
  const accounts = actual.accounts.map(({ address }) => address);
  ensure(
    instructionName(actual.data) === instruction,
    () => `${the} contains ${nameOf(actual)} instead of ${instruction}`,
  );
  ensure(sameBytes(actual.data, wanted.data), () => `The instruction ${instruction} has extra data`);
  ensure(
    accounts.length === wanted.accounts.length,
    () =>
      `The instruction ${instruction} has ${accounts.length} accounts, expected ${wanted.accounts.length}`,
  );
  ensure(
    accounts[0] === multisig?.address,
    () => `${the} is for the multisig ${accounts[0]}, expected ${expected.multisig}`,
  );
  ensure(
    accounts[1] === member?.address,
    () => `${the} is from the member ${accounts[1]}, expected ${expected.member}`,
  );
  ensure(
    accounts[2] === proposal?.address,
    () =>
      `${the} is for the proposal ${accounts[2]}, expected ${proposal?.address} of batch ${expected.batchIndex}`,
  );
}

/** No account beyond the required ones, each writable exactly if it must be. */
function checkAccounts(
  message: WireMessage,
  feePayer: Address,
  used: readonly Instruction[],
  added: readonly Instruction[],
  expected: ExpectedVote,
  the: string,
): void {
  const wanted = voteInstruction(expected.kind, expected).accounts;
  const allowed = new Set([
    feePayer,
    ...used.map(({ program }) => program),
    ...[...wanted, ...added.flatMap(({ accounts }) => accounts)].map(({ address }) => address),
  ]);
  const writable = new Set([
    feePayer,
    ...wanted.flatMap((account) => (account.writable ? [account.address] : [])),
  ]);
  message.staticKeys.forEach((key, index) => {
    ensure(allowed.has(key), () => `${the} has the account ${key}, which no vote needs`);
    ensure(isWritable(message, index) === writable.has(key), () =>
      writable.has(key)
        ? `${the} cannot write to the account ${key}, but must`
        : `${the} can write to the account ${key}, but must not`,
    );
  });
}

function missingSignatures(
  { signatures, message, messageBytes }: WireTransaction,
  the: string,
): readonly Address[] {
  return signatures.flatMap((signature, index) => {
    const signer = message.staticKeys[index] as Address;
    if ([...signature].every((byte) => byte === 0)) return [signer];
    ensure(
      verifySignature(signer, messageBytes, signature),
      () => `${the} has a wrong signature of ${signer}`,
    );
    return [];
  });
}

/**
 * Decodes a vote, legacy or version 0, and accepts only this: at most one compute unit limit, at most one compute unit price,
 * and exactly one vote instruction of this kind without a memo, of this multisig, for the proposal of this batch, by this
 * member.
 * @param wire - signed, partly signed or unsigned; signatures that are present must be valid.
 * @param mayBeAdded - accepts further instructions; accounts that they name must be read-only.
 * @throws `ERR_APPROVAL_REFUSED` with the reason.
 */
export function checkVote(
  wire: Uint8Array,
  expected: ExpectedVote,
  mayBeAdded: (instruction: Instruction) => boolean = () => false,
): CheckedVote {
  const the = `The ${VOTES[expected.kind].noun}`;
  const transaction = decode(wire, the);
  const { message } = transaction;
  checkHeader(transaction, the);
  const feePayer = checkSigners(message, expected, the);
  const instructions = message.instructions.map((instruction) => toInstruction(message, instruction, the));
  const ofSquads = instructions.filter(({ program }) => program === SQUADS_PROGRAM);
  const [vote] = ofSquads;
  const others = instructions.filter(({ program }) => program !== SQUADS_PROGRAM);
  const added = others.filter(mayBeAdded);
  const priorityFeeLamports = addedFee(
    others.filter((instruction) => !added.includes(instruction)),
    the,
  );
  ensure(
    vote !== undefined && ofSquads.length === 1,
    () => `${the} contains ${ofSquads.length} Squads instructions instead of one`,
  );
  checkInstruction(vote, expected, the);
  ensure(
    priorityFeeLamports <= MAX_PRIORITY_FEE_LAMPORTS,
    () =>
      `${the} allows a priority fee of ${priorityFeeLamports} lamports; the limit is ${MAX_PRIORITY_FEE_LAMPORTS}`,
  );
  checkAccounts(message, feePayer, instructions, added, expected, the);
  return {
    version: message.version,
    signature: transaction.signature as string,
    feePayer,
    blockhash: transaction.blockhash,
    priorityFeeLamports,
    missingSignatures: missingSignatures(transaction, the),
    messageBytes: transaction.messageBytes,
  };
}

interface GivenVote extends BatchRef {
  /** Pays and votes; the only signer. */
  readonly owner: Address;
  /** Base58; one per transaction that the wallet received. */
  readonly blockhashes: ReadonlySet<string>;
}

export interface WalletVote {
  readonly wire: Uint8Array;
  readonly signature: string;
  readonly blockhash: string;
  /** Maximum, beyond the signature fee. */
  readonly priorityFeeLamports: bigint;
  readonly assertions: readonly string[];
}

/**
 * Accepts the approval that the wallet received, signed by the owner, with no additions but a priority fee and assertions.
 * @throws `ERR_APPROVAL_REFUSED` with the addition or change.
 */
export function checkWalletVote(wire: Uint8Array, given: GivenVote): WalletVote {
  const { multisig, batchIndex, owner, blockhashes } = given;
  const expected = { kind: 'approve', multisig, batchIndex, member: owner, feePayers: [owner] } as const;
  const assertions: string[] = [];
  const isAssertion = (instruction: Instruction): boolean => {
    const found = decodeLighthouse(instruction);
    if (found === undefined) return false;
    ensure(
      found.onlyAsserts,
      () => `The wallet added ${found.name} of the program Lighthouse, which is not an assertion`,
    );
    assertions.push(found.name);
    return true;
  };
  try {
    const checked = checkVote(wire, expected, isAssertion);
    ensure(checked.version === 0, () => 'The wallet did not return a version 0 transaction');
    ensure(
      blockhashes.has(checked.blockhash),
      () => `The wallet changed the blockhash to ${checked.blockhash}`,
    );
    ensure(checked.missingSignatures.length === 0, () => `The owner ${owner} has not signed the approval`);
    const { signature, blockhash, priorityFeeLamports } = checked;
    return { wire, signature, blockhash, priorityFeeLamports, assertions };
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) throw error;
    return refuse(`The wallet changed the transaction: ${error.message.replace(/\.$/, '')}`, error);
  }
}

/**
 * An unsigned approval that the owner pays: one `proposalApprove` and nothing else, version 0.
 * @returns wire bytes with 64 zeros for each signature.
 */
export const buildApproval = ({
  owner,
  ...terms
}: BatchRef & { readonly owner: Address; readonly blockhash: string }): Uint8Array =>
  unsigned(voteMessage({ kind: 'approve', member: owner, payer: owner, ...terms }));

/**
 * Adds a signature; every other byte stays the same.
 * @throws `ERR_INVALID_REQUEST` when the transaction does not need this signature.
 */
export function addSignature(wire: Uint8Array, signer: KeypairSigner): Uint8Array {
  const { signatures, message, messageBytes } = decodeTransaction(wire);
  const place = message.staticKeys.indexOf(signer.address);
  if (place < 0 || place >= message.signers || place >= signatures.length) {
    throw new FlywheelError('ERR_INVALID_REQUEST', `${signer.address} is not a signer of the transaction.`);
  }
  const signed = signatures.map((signature, index) =>
    index === place ? signer.signNow(messageBytes) : signature,
  );
  return encodeTransaction(signed, messageBytes);
}
