/** All checks of `approve --expect` at once, and instructions to attack them with. */

import type { SourcePipeline } from '../../src/actions/pipelines.js';
import { checkApprovable, checkBatchContent } from '../../src/approval/check-content.js';
import { compareWithPipelines } from '../../src/approval/compare-pipelines.js';
import { readBatch } from '../../src/approval/read-batch.js';
import { associatedTokenAddress } from '../../src/chain/tokens/addresses.js';
import {
  burnChecked,
  createAssociatedTokenAccountIdempotent,
  transferChecked,
} from '../../src/chain/tokens/instructions.js';
import type { Instruction } from '../../src/chain/transaction/instruction.js';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';
import {
  type Accounts,
  accountsOf,
  batchIndex,
  batchState,
  flywheel,
  goodInstructions,
  multisig,
  owner,
  pipelines,
  readerOf,
  vaultToken,
} from './batch-on-chain.js';
import { namedAddress } from './oracle.js';

const { mint, vault, vaultTokenAccount, tokenProgram } = vaultToken;
export const stranger = namedAddress('stranger');
const amounts = { mint, decimals: 6, tokenProgram, owner: vault };

/** What the reader makes of these accounts. */
export const describeAccounts = (accounts: Accounts) =>
  readBatch(readerOf(accounts), { multisig, batchIndex });

/** Every check that `approve --expect` makes, on these accounts. */
export async function refusal(
  accounts: Accounts,
  expected: readonly SourcePipeline[] = pipelines,
): Promise<string> {
  try {
    const description = await describeAccounts(accounts);
    checkBatchContent(description, flywheel);
    checkApprovable(description, owner);
    compareWithPipelines(description, expected, vaultToken);
  } catch (error) {
    if (isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) return error.message;
    throw error;
  }
  return 'accepted';
}

/** Adds an instruction at the end of the second transaction. */
export const withAdded = (...added: Instruction[]): Accounts => {
  const [first, second, third] = goodInstructions() as [Instruction[], Instruction[], Instruction[]];
  return accountsOf(batchState([first, [...second, ...added], third]));
};
/** The associated token account of the stranger. */
export const recipient = associatedTokenAddress(stranger, mint, tokenProgram);

/** A burn that is right but for what is changed. */
export const burnOf = (change: object): Instruction =>
  burnChecked({ ...amounts, account: vaultTokenAccount, amount: 1n, ...change });
/** A transfer to the stranger that is right but for what is changed. */
export const transferOf = (change: object): Instruction =>
  transferChecked({ ...amounts, from: vaultTokenAccount, to: recipient, amount: 1n, ...change });
/** The creation of the stranger's token account, right but for what is changed. */
export const createOf = (change: object): Instruction =>
  createAssociatedTokenAccountIdempotent({ payer: vault, owner: stranger, mint, tokenProgram, ...change });
