/** batchExecuteTransaction (squads-v4.md, section 7.10). */
import {
  BATCH,
  type Batch,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
  VAULT_BATCH_TRANSACTION,
  type VaultBatchTransaction,
} from '../../squads/layouts/accounts.js';
import { SEEDS } from '../../squads/layouts/addresses.js';
import type { ArgumentsByName } from '../../squads/layouts/instructions.js';
import { addressIs, readState, signer, writtenState } from './account-rules.js';
import { nextNumber } from './counting.js';
import { instruction, type Loaded, type Plain, type Scope } from './definition.js';
import { executed, executeRules } from './execution.js';
import { runMessage } from './run-message.js';
import {
  batchAddressRule,
  batchWritableRule,
  multisigAddressRule,
  proposalAddressRule,
  proposalWritableRule,
} from './state-rules.js';

type Accounts = {
  multisig: Loaded<Multisig>;
  member: Plain;
  proposal: Loaded<Proposal>;
  batch: Loaded<Batch>;
  transaction: Loaded<VaultBatchTransaction>;
};
type ExecuteScope = Scope<Accounts, ArgumentsByName['batchExecuteTransaction']>;

export const batchExecuteTransaction = instruction<'batchExecuteTransaction', Accounts>({
  name: 'batchExecuteTransaction',
  accounts: {
    multisig: readState(MULTISIG, [multisigAddressRule]),
    member: signer(),
    proposal: writtenState(PROPOSAL, [
      proposalAddressRule(({ accounts }: ExecuteScope) => accounts.batch.value.index),
      proposalWritableRule,
    ]),
    batch: writtenState(BATCH, [batchAddressRule, batchWritableRule]),
    transaction: readState(VAULT_BATCH_TRANSACTION, [
      addressIs(({ accounts }: ExecuteScope) => accounts.transaction, {
        seeds: ({ accounts: { multisig, batch } }) =>
          SEEDS.batchTransaction(
            multisig.address,
            batch.value.index,
            nextNumber(batch.value.executedTransactionIndex),
          ),
        bump: ({ accounts }) => accounts.transaction.value.bump,
      }),
    ]),
  },
  checks: executeRules,
  effect: ({ accounts: { multisig, proposal, batch, transaction }, remaining, invocation }) => {
    runMessage(invocation, remaining, {
      message: transaction.value.message,
      multisig: multisig.address,
      vaultIndex: batch.value.vaultIndex,
      vaultBump: batch.value.vaultBump,
      parent: batch.address,
      ephemeralSignerBumps: transaction.value.ephemeralSignerBumps,
      protectedAccounts: [proposal.address, batch.address],
    });
    const executedTransactionIndex = nextNumber(batch.value.executedTransactionIndex);
    batch.value = { ...batch.value, executedTransactionIndex };
    if (executedTransactionIndex === batch.value.size) proposal.value = executed(proposal.value, invocation);
  },
});
