/** vaultTransactionCreate and vaultTransactionExecute (squads-v4.md, section 7.11). */
import {
  ACCOUNT_SIZE,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
  VAULT_TRANSACTION,
  type VaultTransaction,
} from '../../squads/layouts/accounts.js';
import { derive, SEEDS } from '../../squads/layouts/addresses.js';
import type { ArgumentsByName } from '../../squads/layouts/instructions.js';
import { storedMessageSize } from '../../squads/layouts/message.js';
import {
  addressIs,
  isWritable,
  newState,
  readState,
  rentPayer,
  signer,
  systemProgram,
  writtenState,
} from './account-rules.js';
import { ephemeralBumps, readArgumentMessage } from './argument-message.js';
import { nextIndex } from './counting.js';
import { instruction, type Loaded, type Plain, type Scope } from './definition.js';
import { executed, executeRules } from './execution.js';
import { MULTISIG_RULES } from './multisig-rules.js';
import { requireRules } from './run-instruction.js';
import { runMessage } from './run-message.js';
import {
  INITIATE,
  memberRules,
  multisigAddressRule,
  proposalAddressRule,
  proposalWritableRule,
} from './state-rules.js';

type CreateAccounts = {
  multisig: Loaded<Multisig>;
  transaction: Loaded<VaultTransaction>;
  creator: Plain;
  rentPayer: Plain;
  systemProgram: Plain;
};
type CreateScope = Scope<CreateAccounts, ArgumentsByName['vaultTransactionCreate']>;

function fill({
  accounts: { multisig, transaction, creator },
  args,
  invocation,
}: CreateScope): VaultTransaction {
  const index = nextIndex(multisig.value.transactionIndex);
  return {
    multisig: multisig.address,
    creator: creator.address,
    index,
    bump: derive(SEEDS.transaction(multisig.address, index)).bump,
    vaultIndex: args.vaultIndex,
    vaultBump: derive(SEEDS.vault(multisig.address, args.vaultIndex)).bump,
    ephemeralSignerBumps: ephemeralBumps(transaction.address, args.ephemeralSigners),
    message: readArgumentMessage(invocation, args.message),
  };
}

export const vaultTransactionCreate = instruction<'vaultTransactionCreate', CreateAccounts>({
  name: 'vaultTransactionCreate',
  accounts: {
    multisig: writtenState(MULTISIG, [multisigAddressRule, isWritable(({ accounts }) => accounts.multisig)]),
    transaction: newState(VAULT_TRANSACTION, {
      seeds: ({ accounts: { multisig } }) =>
        SEEDS.transaction(multisig.address, nextIndex(multisig.value.transactionIndex)),
      size: ({ args, invocation }) =>
        ACCOUNT_SIZE.vaultTransaction(
          args.ephemeralSigners,
          storedMessageSize(readArgumentMessage(invocation, args.message)),
        ),
      payer: ({ accounts }) => accounts.rentPayer.address,
    }),
    creator: signer(),
    rentPayer: rentPayer(),
    systemProgram,
  },
  checks: memberRules(({ accounts }) => accounts.creator, INITIATE),
  effect: (scope) => {
    const { accounts, invocation } = scope;
    const { multisig, transaction } = accounts;
    transaction.value = fill(scope);
    const { index } = transaction.value;
    multisig.value = { ...multisig.value, transactionIndex: index };
    requireRules(invocation, MULTISIG_RULES, multisig.value);
    invocation.log(`transaction index: ${index}`);
  },
});

type ExecuteAccounts = {
  multisig: Loaded<Multisig>;
  proposal: Loaded<Proposal>;
  transaction: Loaded<VaultTransaction>;
  member: Plain;
};
type ExecuteScope = Scope<ExecuteAccounts, ArgumentsByName['vaultTransactionExecute']>;

export const vaultTransactionExecute = instruction<'vaultTransactionExecute', ExecuteAccounts>({
  name: 'vaultTransactionExecute',
  accounts: {
    multisig: readState(MULTISIG, [multisigAddressRule]),
    proposal: writtenState(PROPOSAL, [
      proposalAddressRule(({ accounts }: ExecuteScope) => accounts.transaction.value.index),
      proposalWritableRule,
    ]),
    transaction: readState(VAULT_TRANSACTION, [
      addressIs(({ accounts }: ExecuteScope) => accounts.transaction, {
        seeds: ({ accounts: { multisig, transaction } }) =>
          SEEDS.transaction(multisig.address, transaction.value.index),
        bump: ({ accounts }) => accounts.transaction.value.bump,
      }),
    ]),
    member: signer(),
  },
  checks: executeRules,
  effect: ({ accounts: { multisig, proposal, transaction }, remaining, invocation }) => {
    runMessage(invocation, remaining, {
      ...transaction.value,
      multisig: multisig.address,
      parent: transaction.address,
      protectedAccounts: [proposal.address],
    });
    proposal.value = executed(proposal.value, invocation);
  },
});
