/** batchCreate (squads-v4.md, section 7.2). */
import { ACCOUNT_SIZE, BATCH, type Batch, MULTISIG, type Multisig } from '../../squads/layouts/accounts.js';
import { derive, SEEDS } from '../../squads/layouts/addresses.js';
import { isWritable, newState, rentPayer, signer, systemProgram, writtenState } from './account-rules.js';
import { nextIndex } from './counting.js';
import { instruction, type Loaded, type Plain } from './definition.js';
import { MULTISIG_RULES } from './multisig-rules.js';
import { requireRules } from './run-instruction.js';
import { INITIATE, memberRules, multisigAddressRule } from './state-rules.js';

type Accounts = {
  multisig: Loaded<Multisig>;
  batch: Loaded<Batch>;
  creator: Plain;
  rentPayer: Plain;
  systemProgram: Plain;
};

export const batchCreate = instruction<'batchCreate', Accounts>({
  name: 'batchCreate',
  accounts: {
    multisig: writtenState(MULTISIG, [multisigAddressRule, isWritable(({ accounts }) => accounts.multisig)]),
    batch: newState(BATCH, {
      seeds: ({ accounts: { multisig } }) =>
        SEEDS.transaction(multisig.address, nextIndex(multisig.value.transactionIndex)),
      size: () => ACCOUNT_SIZE.batch,
      payer: ({ accounts }) => accounts.rentPayer.address,
    }),
    creator: signer(),
    rentPayer: rentPayer(),
    systemProgram,
  },
  checks: memberRules(({ accounts }) => accounts.creator, INITIATE),
  effect: ({ accounts: { multisig, batch, creator }, args, invocation }) => {
    const index = nextIndex(multisig.value.transactionIndex);
    batch.value = {
      multisig: multisig.address,
      creator: creator.address,
      index,
      bump: derive(SEEDS.transaction(multisig.address, index)).bump,
      vaultIndex: args.vaultIndex,
      vaultBump: derive(SEEDS.vault(multisig.address, args.vaultIndex)).bump,
      size: 0,
      executedTransactionIndex: 0,
    };
    multisig.value = { ...multisig.value, transactionIndex: index };
    requireRules(invocation, MULTISIG_RULES, multisig.value);
    invocation.log(`batch index: ${index}`);
  },
});
