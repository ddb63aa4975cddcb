/** Checks that a transaction is exactly one vote on one batch and nothing else, before and after signing. */
import { MAX_PRIORITY_FEE_LAMPORTS } from '../chain/chain.js';
import { COMPUTE_BUDGET_PROGRAM, SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.js';
import {
  budgetIn,
  decodeLighthouse,
  priorityFee,
  setComputeUnitLimit,
  setComputeUnitPrice,
  type TransactionBudget,
} from '../chain/small-programs.js';
import { type BatchRef, VOTES } from '../chain/squads/builders.js';
import { INSTRUCTIONS, instructionName } from '../chain/squads/instructions.js';
import {
  compile,
  type Instruction,
  instructionsOf,
  MAX_COMPUTE_UNITS,
  readonlyAccount,
  staticAccounts,
  TRANSACTION_SIZE_LIMIT_BYTES,
} from '../chain/transaction/message.js';
import { flawedSignatures } from '../chain/transaction/sign.js';
import {
  compileV0Message,
  decodeTransaction,
  signatureOf,
  unsigned,
  type WireTransaction,
} from '../chain/transaction/wire.js';
import { isFlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { base58Encode, type ReadonlyBytes, sameBytes } from '../values/bytes.js';
import { messageProblem } from './check-content.js';
import { ensure, refuse } from './pins.js';

interface ExpectedVote extends BatchRef {
  readonly kind: keyof typeof VOTES;
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

function decode(wire: Uint8Array, the: string): WireTransaction {
  ensure(
    wire.length <= TRANSACTION_SIZE_LIMIT_BYTES,
    () => `${the} has ${wire.length} bytes; the limit of a transaction is ${TRANSACTION_SIZE_LIMIT_BYTES}`,
  );
  try {
    return decodeTransaction(wire);
  } catch (error) {
    const reason = (error as Error).message.replace(/^Not a transaction: |\.$/g, '');
    return refuse(`${the} is not a transaction: ${reason}`, error);
  }
}

function checkHeader({ signatures, message }: WireTransaction, the: string): void {
  const { signers, writableSigners, writableNonSigners, staticKeys } = message;
  ensure(
    writableSigners > 0 && staticKeys.length >= signers && writableNonSigners >= 0,
    () => 'The header of the approval does not match its accounts',
  );
  ensure(
    signatures.length === signers,
    () => `${the} has ${signatures.length} signatures and needs ${signers}`,
  );
}

function nameOf({ program, data }: Instruction): string {
  if (program === SQUADS_PROGRAM)
    return `the Squads instruction ${instructionName(data) ?? 'of an unknown name'}`;
  if (program === SYSTEM_PROGRAM && data[0] === ADVANCE_NONCE) return 'a durable nonce, which never expires';
  if (program === COMPUTE_BUDGET_PROGRAM) return 'a compute-budget instruction other than limit and price';
  return `an instruction of the program ${program}`;
}

function limitOrPrice({ computeUnits, microLamports }: Partial<TransactionBudget>): Instruction | undefined {
  if (computeUnits !== undefined) return setComputeUnitLimit(computeUnits);
  return microLamports === undefined ? undefined : setComputeUnitPrice(microLamports);
}

function addedFee(instructions: readonly Instruction[], the: string): bigint {
  let sum: Partial<TransactionBudget> = {};
  for (const instruction of instructions) {
    const asked = budgetIn(instruction);
    const own = limitOrPrice(asked);
    ensure(
      own !== undefined && sameBytes(instruction.data, own.data) && instruction.accounts.length === 0,
      () => `${the} contains ${nameOf(instruction)}`,
    );
    ensure(!Object.keys(asked).some((name) => name in sum), () => `${the} sets its compute budget twice`);
    sum = { ...sum, ...asked };
  }
  // Without an explicit limit the cluster grants less than this; assume the maximum.
  const { computeUnits = MAX_COMPUTE_UNITS, microLamports = 0n } = sum;
  return priorityFee(Math.min(computeUnits, MAX_COMPUTE_UNITS), microLamports);
}

function checkInstruction(
  actual: Instruction,
  { kind, batchIndex }: ExpectedVote,
  wanted: Instruction,
  the: string,
): void {
  const { instruction } = VOTES[kind];
  ensure(
    instructionName(actual.data) === instruction,
    () => `${the} contains ${nameOf(actual)} instead of ${instruction}`,
  );
  ensure(sameBytes(actual.data, wanted.data), () => `The instruction ${instruction} has extra data`);
  ensure(
    actual.accounts.length === wanted.accounts.length,
    () =>
      `The instruction ${instruction} has ${actual.accounts.length} accounts, expected ${wanted.accounts.length}`,
  );
  for (const [at, role] of Object.keys(INSTRUCTIONS[instruction].accounts).entries()) {
    const [is, due] = [actual, wanted].map(({ accounts }) => accounts[at]?.address);
    ensure(is === due, () => `${the} is for the ${role} ${is}, expected ${due} of batch ${batchIndex}`);
  }
}

const onlyRead = (instruction: Instruction): Instruction => ({
  ...instruction,
  accounts: instruction.accounts.map(({ address }) => readonlyAccount(address)),
});

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
  const feePayer = message.staticKeys[0] as Address;
  ensure(
    expected.feePayers.includes(feePayer),
    () => `${the} is paid by ${feePayer}, expected ${expected.feePayers.join(' or ')}`,
  );
  const instructions = instructionsOf(message, staticAccounts(message));
  ensure(instructions !== undefined, () => `${the} refers to an account that it does not list`);
  const ofSquads = instructions.filter(({ program }) => program === SQUADS_PROGRAM);
  const [vote] = ofSquads;
  const others = instructions.filter(({ program }) => program !== SQUADS_PROGRAM);
  const priorityFeeLamports = addedFee(
    others.filter((instruction) => !mayBeAdded(instruction)),
    the,
  );
  ensure(
    vote !== undefined && ofSquads.length === 1,
    () => `${the} contains ${ofSquads.length} Squads instructions instead of one`,
  );
  const wanted = VOTES[expected.kind].build(expected);
  checkInstruction(vote, expected, wanted, the);
  ensure(
    priorityFeeLamports <= MAX_PRIORITY_FEE_LAMPORTS,
    () =>
      `${the} allows a priority fee of ${priorityFeeLamports} lamports; the limit is ${MAX_PRIORITY_FEE_LAMPORTS}`,
  );
  // No account but the required ones, each with exactly its rights.
  const parts = instructions.map((one) => (one === vote ? wanted : onlyRead(one)));
  const problem = messageProblem(message, compile(feePayer, parts));
  ensure(problem === undefined, () => `${the} is not the expected one: ${problem}`);
  const flaws = flawedSignatures(transaction);
  const wrong = flaws.find(({ flaw }) => flaw === 'wrong');
  ensure(wrong === undefined, () => `${the} has a wrong signature of ${wrong?.signer}`);
  return {
    version: message.version,
    signature: signatureOf(transaction),
    feePayer,
    blockhash: base58Encode(message.blockhash),
    priorityFeeLamports,
    missingSignatures: flaws.map(({ signer }) => signer as Address),
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
  blockhash,
  ...batch
}: BatchRef & { readonly owner: Address; readonly blockhash: string }): Uint8Array =>
  unsigned(
    compileV0Message({
      payer: owner,
      blockhash,
      instructions: [VOTES.approve.build({ ...batch, member: owner })],
    }),
  );
