/** batchAddTransaction (squads-v4.md, section 7.4). */
import {
  ACCOUNT_SIZE,
  BATCH,
  type Batch,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
  VAULT_BATCH_TRANSACTION,
  type VaultBatchTransaction,
} from '../../squads/layouts/accounts.js';
import { derive, SEEDS, type Seeds } from '../../squads/layouts/addresses.js';
import type { ArgumentsByName } from '../../squads/layouts/instructions.js';
import { storedMessageSize } from '../../squads/layouts/message.js';
import { newState, readState, rentPayer, signer, systemProgram, writtenState } from './account-rules.js';
import { ephemeralBumps, readArgumentMessage } from './argument-message.js';
import { nextNumber } from './counting.js';
import { instruction, type Loaded, type Plain, type Scope } from './definition.js';
import { isDraft } from './multisig-rules.js';
import {
  batchAddressRule,
  batchWritableRule,
  INITIATE,
  memberRules,
  multisigAddressRule,
  proposalAddressRule,
} from './state-rules.js';

type Accounts = {
  multisig: Loaded<Multisig>;
  proposal: Loaded<Proposal>;
  batch: Loaded<Batch>;
  transaction: Loaded<VaultBatchTransaction>;
  member: Plain;
  rentPayer: Plain;
  systemProgram: Plain;
};
type AddScope = Scope<Accounts, ArgumentsByName['batchAddTransaction']>;

const seedsOfNext = ({ accounts: { multisig, batch } }: AddScope): Seeds =>
  SEEDS.batchTransaction(multisig.address, batch.value.index, nextNumber(batch.value.size));

export const batchAddTransaction = instruction<'batchAddTransaction', Accounts>({
  name: 'batchAddTransaction',
  accounts: {
    multisig: readState(MULTISIG, [multisigAddressRule]),
    proposal: readState(PROPOSAL, [
      proposalAddressRule(({ accounts }: AddScope) => accounts.batch.value.index),
    ]),
    batch: writtenState(BATCH, [batchAddressRule, batchWritableRule]),
    transaction: newState(VAULT_BATCH_TRANSACTION, {
      seeds: seedsOfNext,
      size: ({ args, invocation }) =>
        ACCOUNT_SIZE.batchTransaction(
          args.ephemeralSigners,
          storedMessageSize(readArgumentMessage(invocation, args.message)),
        ),
      payer: ({ accounts }) => accounts.rentPayer.address,
    }),
    member: signer(),
    rentPayer: rentPayer(),
    systemProgram,
  },
  checks: [
    ...memberRules(({ accounts }: AddScope) => accounts.member, INITIATE),
    {
      error: 'Unauthorized',
      holds: ({ accounts }) => accounts.member.address === accounts.batch.value.creator,
    },
    { error: 'InvalidProposalStatus', holds: ({ accounts }) => isDraft(accounts.proposal.value) },
  ],
  effect: (scope) => {
    const { accounts, args, invocation } = scope;
    const { batch, transaction } = accounts;
    transaction.value = {
      bump: derive(seedsOfNext(scope)).bump,
      ephemeralSignerBumps: ephemeralBumps(batch.address, args.ephemeralSigners),
      message: readArgumentMessage(invocation, args.message),
    };
    batch.value = { ...batch.value, size: nextNumber(batch.value.size) };
    invocation.log(`batch index: ${batch.value.index}`);
    invocation.log(`batch size: ${batch.value.size}`);
  },
});
