/** Decides whether a batch may be approved: only compiled pipelines of the project's mint and the vault's own token account. */
import { type PipelineContent, pipelineInstructions } from '../actions/pipelines.js';
import { instructionProblem } from '../actions/registry.js';
import type { Flywheel, VaultToken } from '../chain/chain.js';
import { isStale, type Multisig, PERMISSION } from '../chain/squads/accounts.js';
import { isSameMessage } from '../chain/squads/message.js';
import {
  type CompiledInstruction,
  compile,
  type Message,
  staticAccounts,
} from '../chain/transaction/message.js';
import type { Address } from '../values/address.js';
import { sameBytes } from '../values/bytes.js';
import type { BatchContent, DecodedTransaction } from './batch-content.js';
import { ensure, refuse } from './pins.js';
import type { BatchDescription } from './read-batch.js';

function checkTransaction(transaction: DecodedTransaction, token: VaultToken): void {
  const { number, decoded, message, ephemeralSigners, problem } = transaction;
  const reject = (reason: string): never => refuse(`Transaction ${number} of the batch ${reason}`);
  if (problem !== null) reject(`cannot be checked: ${problem}`);
  const stranger = message.staticKeys.slice(0, message.signers).find((signer) => signer !== token.vault);
  if (stranger !== undefined) reject(`needs a signature of ${stranger}`);
  if (ephemeralSigners > 0) reject(`uses ${ephemeralSigners} ephemeral signers; a pipeline uses none`);
  if (decoded.length === 0) reject('does nothing');
  decoded.forEach((one, index) => {
    const reason = instructionProblem(one, token);
    if (reason !== undefined) reject(`has a wrong instruction ${index + 1}: ${reason}`);
  });
}

export interface JudgedContent extends BatchContent {
  readonly batch: { readonly creator: Address };
}

/**
 * Accepts only memos, checked burns, checked transfers and creations of associated token accounts, all by this vault, from its
 * own token account, of this mint; and of these only what pipelines are compiled to.
 * @throws `ERR_APPROVAL_REFUSED` with the number of the transaction and instruction.
 */
export function checkBatchContent(description: JudgedContent, flywheel: Flywheel): void {
  ensure(
    description.vault === flywheel.vault,
    () => `The batch spends from the vault ${description.vault}, expected ${flywheel.vault}`,
  );
  ensure(description.transactions.length > 0, () => 'The batch has no transactions');
  const { creator } = description.batch;
  ensure(
    creator === flywheel.operator || creator === flywheel.owner,
    () => `${creator} set up the batch, but only the operator ${flywheel.operator} or the owner may`,
  );
  for (const transaction of description.transactions) checkTransaction(transaction, flywheel);
  const { pipelines, pipelinesProblem } = description;
  ensure(pipelines !== null, () => pipelinesProblem ?? 'The batch has no pipelines');
  description.transactions.forEach(({ number, message }, at) => {
    const instructions = pipelineInstructions(pipelines[at] as PipelineContent, flywheel);
    const problem = messageProblem(message, compile(flywheel.vault, instructions));
    ensure(
      problem === undefined,
      () => `Transaction ${number} of the batch differs from its pipeline: ${problem}`,
    );
  });
}

/** Requires that owner and operator can both vote. @throws `ERR_APPROVAL_REFUSED` with the one who cannot. */
export function checkVoters(
  { members }: Pick<Multisig, 'members'>,
  { multisig, owner, operator }: Pick<Flywheel, 'multisig' | 'owner' | 'operator'>,
): void {
  for (const voter of [owner, operator]) {
    const found = members.find(({ key }) => key === voter);
    ensure(
      found !== undefined && (found.permissions & PERMISSION.vote) !== 0,
      () => `${voter} has no right to vote in the multisig ${multisig}`,
    );
  }
}

/** Approving again changes nothing. */
export function hasApproved(batch: BatchDescription, member: Address): boolean {
  const { kind } = batch.proposal.status;
  const isOpen = kind === 'Active' && !isStale(batch.multisigAccount, batch.batchIndex);
  return batch.proposal.approved.includes(member) && (isOpen || kind === 'Approved');
}

/** Only content that can no longer change, and that `member` may approve now. @throws `ERR_APPROVAL_REFUSED` */
export function checkApprovable(description: BatchDescription, member: Address): void {
  const { proposal, batch, batchIndex, multisigAccount } = description;
  const found = multisigAccount.members.find(({ key }) => key === member);
  ensure(found !== undefined, () => `${member} is not a member of the multisig ${description.multisig}`);
  ensure((found.permissions & PERMISSION.vote) !== 0, () => `The member ${member} has no right to vote`);
  ensure(
    !isStale(multisigAccount, batchIndex),
    () => `Batch ${batchIndex} is stale: the multisig changed after the set-up`,
  );
  ensure(!proposal.approved.includes(member), () => `${member} has already approved batch ${batchIndex}`);
  ensure(
    proposal.status.kind === 'Active',
    () =>
      `The proposal of batch ${batchIndex} is ${proposal.status.kind}; only an Active proposal can be approved`,
  );
  ensure(
    batch.executedTransactionIndex === 0,
    () => `${batch.executedTransactionIndex} transactions of batch ${batchIndex} were already executed`,
  );
}

const rightsIn = (message: Message): ReadonlyMap<string, string> =>
  new Map(
    staticAccounts(message).map(({ address, signer, writable }) => {
      const rights = [...(signer ? ['signs'] : []), ...(writable ? ['is written'] : [])];
      return [address, rights.join(' and ') || 'is only read'];
    }),
  );

const accountsOf = ({ staticKeys }: Message, { programIndex, accountIndexes }: CompiledInstruction): string =>
  [programIndex, ...accountIndexes].map((index) => staticKeys[index]).join(' ');

/**
 * The first difference without a full stop, or `undefined`. The order of accounts may differ: it has no effect. Messages with
 * lookup tables differ always.
 */
export function messageProblem(actual: Message, expected: Message): string | undefined {
  if (isSameMessage(actual, expected)) return undefined;
  if (actual.lookups.length > 0) return 'it uses a lookup table, so its accounts cannot be checked';
  const wanted = rightsIn(expected);
  const rights = rightsIn(actual);
  if (rights.size !== actual.staticKeys.length) return 'an account is listed twice';
  for (const [key, right] of rights) {
    const due = wanted.get(key);
    if (due === undefined) return `the account ${key} is not needed`;
    if (due !== right) return `the account ${key} ${right}, expected: ${due}`;
  }
  const missing = [...wanted.keys()].find((key) => !rights.has(key));
  if (missing !== undefined) return `the account ${missing} is missing`;
  if (actual.instructions.length !== expected.instructions.length)
    return `${actual.instructions.length} instructions, expected ${expected.instructions.length}`;
  const at = actual.instructions.findIndex((instruction, index) => {
    const due = expected.instructions[index] as CompiledInstruction;
    return (
      accountsOf(actual, instruction) !== accountsOf(expected, due) || !sameBytes(instruction.data, due.data)
    );
  });
  return at < 0 ? undefined : `instruction ${at + 1} is not the expected one`;
}
