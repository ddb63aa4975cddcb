/** May this batch be approved at all? Only the four kinds of operation, only the flywheel's mint and the vault's own account. */
import type { Address } from '../../values/address.js';
import { PERMISSION } from '../squads/layouts/accounts.js';
import type { KnownOperation, Operation } from '../transaction/describe.js';
import type { DecodedTransaction } from './decoded-transaction.js';
import type { VaultToken } from './pipelines.js';
import type { BatchDescription } from './read-batch.js';
import { ensure, refuse } from './refuse.js';

/** Why an operation is not allowed, or `undefined`. */
function operationProblem(operation: Operation, token: VaultToken): string | undefined {
  switch (operation.kind) {
    case 'unknown':
      return operation.reason;
    case 'memo':
      return differs(
        'the memo is signed by',
        operation.signers.find((signer) => signer !== token.vault),
        token.vault,
      );
    case 'burn':
      return (
        differs('the burn is from the account', operation.account, token.vaultTokenAccount) ??
        amountProblem(operation, token)
      );
    case 'transfer':
      return (
        differs('the transfer is from the account', operation.from, token.vaultTokenAccount) ??
        amountProblem(operation, token)
      );
    case 'createTokenAccount':
      return (
        tokenProblem(operation, token) ??
        differs('the new token account is paid by', operation.payer, token.vault)
      );
  }
}

const differs = (what: string, actual: Address | undefined, expected: Address): string | undefined =>
  actual === undefined || actual === expected ? undefined : `${what} ${actual}, expected ${expected}`;

type TokenOperation = Exclude<KnownOperation, { kind: 'memo' }>;

const tokenProblem = (operation: TokenOperation, token: VaultToken): string | undefined =>
  differs('the token program is', operation.tokenProgram, token.tokenProgram) ??
  differs('the mint is', operation.mint, token.mint);

function amountProblem(
  operation: Extract<KnownOperation, { kind: 'burn' | 'transfer' }>,
  token: VaultToken,
): string | undefined {
  const problem =
    tokenProblem(operation, token) ?? differs('the account is that of', operation.owner, token.vault);
  if (problem !== undefined || operation.decimals === token.decimals) return problem;
  return `the amount states ${operation.decimals} decimals, the mint has ${token.decimals}`;
}

function checkTransaction(transaction: DecodedTransaction, token: VaultToken): void {
  const { number, operations, signers, ephemeralSigners, problem } = transaction;
  const reject = (reason: string): never => refuse(`Transaction ${number} of the batch: ${reason}`);
  if (problem !== null) reject(problem);
  const stranger = signers.find((signer) => signer !== token.vault);
  if (stranger !== undefined) reject(`it needs a signature of ${stranger}`);
  if (ephemeralSigners > 0) reject(`it uses ${ephemeralSigners} ephemeral signers, a pipeline uses none`);
  if (operations.length === 0) reject('it does nothing');
  operations.forEach((operation, index) => {
    const reason = operationProblem(operation, token);
    if (reason !== undefined) reject(`instruction ${index + 1}: ${reason}`);
  });
}

/**
 * Lets pass only memos, checked burns, checked transfers and creations of associated token accounts, all by this vault,
 * from its own token account, of this mint.
 * @throws `ERR_APPROVAL_REFUSED` naming transaction and instruction.
 */
export function checkBatchContent(description: BatchDescription, token: VaultToken): void {
  ensure(
    description.vault === token.vault,
    () => `The batch acts for the vault ${description.vault}, expected ${token.vault}`,
  );
  ensure(description.transactions.length > 0, () => 'The batch holds no transaction');
  for (const transaction of description.transactions) checkTransaction(transaction, token);
}

/** Has `member` approved this batch already? Approving it again changes nothing. */
export const hasApproved = ({ proposal }: BatchDescription, member: Address): boolean =>
  proposal.approved.includes(member) && ['Active', 'Approved'].includes(proposal.status.kind);

/**
 * Lets pass only a batch whose content can no longer change and which `member` may approve now.
 * @throws `ERR_APPROVAL_REFUSED` with the reason.
 */
export function checkApprovable(description: BatchDescription, member: Address): void {
  const { proposal, batch, batchIndex, multisigAccount } = description;
  const found = multisigAccount.members.find(({ key }) => key === member);
  ensure(found !== undefined, () => `${member} is not a member of the multisig ${description.multisig}`);
  ensure((found.permissions & PERMISSION.vote) !== 0, () => `The member ${member} has no right to vote`);
  ensure(
    batchIndex > multisigAccount.staleTransactionIndex,
    () => `The batch ${batchIndex} is stale: the multisig has been changed since`,
  );
  ensure(!proposal.approved.includes(member), () => `${member} has already approved the batch ${batchIndex}`);
  ensure(
    proposal.status.kind === 'Active',
    () =>
      `The proposal of the batch ${batchIndex} is ${proposal.status.kind}, only an Active one can be approved`,
  );
  ensure(
    batch.executedTransactionIndex === 0,
    () => `${batch.executedTransactionIndex} transactions of the batch ${batchIndex} have already run`,
  );
}
