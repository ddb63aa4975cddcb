/** vaultBatchTransactionAccountClose: the last transaction of a batch (squads-v4.md, section 7.12). */
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
import { deriveWithBump, SEEDS } from '../../squads/layouts/addresses.js';
import type { ArgumentsByName } from '../../squads/layouts/instructions.js';
import { closesInto, isWritable, raw, readState, systemProgram, writtenState } from './account-rules.js';
import { close, closingMultisigRules, collectorRules, mayClose } from './close-rules.js';
import { instruction, type Loaded, type Plain, type Scope } from './definition.js';
import { isStale } from './multisig-rules.js';
import { batchWritableRule } from './state-rules.js';

type TransactionAccounts = {
  multisig: Loaded<Multisig>;
  proposal: Loaded<Proposal>;
  batch: Loaded<Batch>;
  transaction: Loaded<VaultBatchTransaction>;
  rentCollector: Plain;
  systemProgram: Plain;
};
type TransactionScope = Scope<TransactionAccounts, ArgumentsByName['vaultBatchTransactionAccountClose']>;

/** Is the transaction the last one its batch still has? */
function isLast({ accounts: { multisig, batch, transaction } }: TransactionScope): boolean {
  const seeds = SEEDS.batchTransaction(multisig.address, batch.value.index, batch.value.size);
  return deriveWithBump(seeds, transaction.value.bump) === transaction.address;
}

export const vaultBatchTransactionAccountClose = instruction<
  'vaultBatchTransactionAccountClose',
  TransactionAccounts
>({
  name: 'vaultBatchTransactionAccountClose',
  accounts: {
    multisig: readState(MULTISIG, closingMultisigRules),
    proposal: readState(PROPOSAL, [
      {
        error: 'ProposalForAnotherMultisig',
        holds: ({ accounts }) => accounts.proposal.value.multisig === accounts.multisig.address,
      },
    ]),
    batch: writtenState(BATCH, [
      batchWritableRule,
      {
        error: 'TransactionForAnotherMultisig',
        holds: ({ accounts }) => accounts.batch.value.multisig === accounts.multisig.address,
      },
      {
        error: 'TransactionNotMatchingProposal',
        holds: ({ accounts }: TransactionScope) =>
          accounts.batch.value.index === accounts.proposal.value.transactionIndex,
      },
    ]),
    transaction: readState(VAULT_BATCH_TRANSACTION, [
      isWritable(({ accounts }) => accounts.transaction),
      closesInto(
        ({ accounts }) => accounts.transaction,
        ({ accounts }) => accounts.rentCollector,
      ),
    ]),
    rentCollector: raw(collectorRules),
    systemProgram,
  },
  checks: [
    { error: 'TransactionNotLastInBatch', holds: isLast },
    {
      error: 'InvalidProposalStatus',
      holds: ({ accounts: { multisig, proposal } }) =>
        mayClose(proposal.value, isStale(multisig.value, proposal.value.transactionIndex)),
    },
  ],
  effect: ({ accounts: { batch, transaction, rentCollector }, invocation }) => {
    batch.value = { ...batch.value, size: batch.value.size - 1 };
    close(invocation, transaction.address, rentCollector.address);
  },
});
