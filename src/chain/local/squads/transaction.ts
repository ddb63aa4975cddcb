/**
 * Multisigs, batches and vault transactions: create, fill, execute and close (docs/squads-v4.md, sections 7.1, 7.2, 7.4 and
 * 7.10 to 7.13).
 */

import { transfer } from '../../small-programs.js';
import {
  ACCOUNT_SIZE,
  type Batch,
  isStale,
  type Multisig,
  NO_AUTHORITY,
  PERMISSION,
  PROPOSAL,
  type Proposal,
  type VaultTransaction,
} from '../../squads/accounts.js';
import { derive, deriveWithBump, SEEDS } from '../../squads/addresses.js';
import { ephemeralBumps, readMessage, runMessage, storedSize } from './message.js';
import {
  checkBatch,
  checkMayExecute,
  checkMember,
  checkMultisig,
  checkPlace,
  checkProposal,
  checkSound,
  checkStatus,
  checkWritable,
  closeAccount,
  compareKeys,
  decodeState,
  ensure,
  fail,
  inStatus,
  type Loaded,
  makeAccount,
  panic,
  type SquadsCall,
} from './rules.js';

const LAMPORTS_PER_SOL = 1_000_000_000n;

export function multisigCreateV2({ accounts, args, invocation }: SquadsCall<'multisigCreateV2'>): void {
  const { programConfig, treasury, multisig, createKey, creator } = accounts;
  const bump = makeAccount(invocation, multisig, {
    seeds: SEEDS.multisig(createKey.address),
    payer: creator,
    size: () => ACCOUNT_SIZE.multisig(args.members.length),
  });
  checkPlace(programConfig, SEEDS.programConfig(), 'canonical');
  checkWritable(treasury);
  checkWritable(creator);
  ensure(treasury.address === programConfig.value.treasury, 'InvalidAccount');
  multisig.value = {
    createKey: createKey.address,
    configAuthority: args.configAuthority ?? NO_AUTHORITY,
    threshold: args.threshold,
    timeLockSeconds: args.timeLockSeconds,
    transactionIndex: 0n,
    staleTransactionIndex: 0n,
    rentCollector: args.rentCollector,
    bump,
    members: [...args.members].sort((left, right) => compareKeys(left.key, right.key)),
  };
  checkSound(multisig.value);
  const lamports = programConfig.value.multisigCreationFeeLamports;
  if (lamports === 0n) return;
  invocation.invoke([transfer({ from: creator.address, to: treasury.address, lamports })], []);
  invocation.log(`Creation fee: ${lamports / LAMPORTS_PER_SOL}`);
}

export const multisigCreate = (): never => fail('MultisigCreateDeprecated');

const U64_MAX = 2n ** 64n - 1n;

const U32_MAX = 2 ** 32 - 1;

const nextNumber = (number: number): number => (number < U32_MAX ? number + 1 : panic());

function begin(
  { accounts, args, invocation }: SquadsCall<'batchCreate'> | SquadsCall<'vaultTransactionCreate'>,
  made: Loaded,
  size: () => number,
) {
  const { multisig, creator, rentPayer } = accounts;
  const { vaultIndex } = args;
  const { transactionIndex } = multisig.value;
  // The real program panics on overflow.
  const index = transactionIndex < U64_MAX ? transactionIndex + 1n : panic();
  const seeds = SEEDS.transaction(multisig.address, index);
  const bump = makeAccount(invocation, made, { seeds, payer: rentPayer, size });
  checkMultisig(multisig);
  checkWritable(rentPayer);
  checkMember(multisig, creator, PERMISSION.initiate);
  multisig.value = { ...multisig.value, transactionIndex: index };
  checkSound(multisig.value);
  const vaultBump = derive(SEEDS.vault(multisig.address, vaultIndex)).bump;
  return { multisig: multisig.address, creator: creator.address, index, bump, vaultIndex, vaultBump };
}

export function batchCreate(call: SquadsCall<'batchCreate'>): void {
  const { batch } = call.accounts;
  const begun = begin(call, batch, () => ACCOUNT_SIZE.batch);
  batch.value = { ...begun, size: 0, executedTransactionIndex: 0 };
  call.invocation.log(`batch index: ${begun.index}`);
}

export function batchAddTransaction({ accounts, args, invocation }: SquadsCall<'batchAddTransaction'>): void {
  const { multisig, proposal, batch, transaction, member, rentPayer } = accounts;
  const size = nextNumber(batch.value.size);
  const bump = makeAccount(invocation, transaction, {
    seeds: SEEDS.batchTransaction(multisig.address, batch.value.index, size),
    payer: rentPayer,
    size: () => ACCOUNT_SIZE.batchTransaction(args.ephemeralSigners, storedSize(args.message)),
  });
  checkMultisig(multisig);
  checkProposal(proposal, multisig, batch.value.index);
  checkBatch(batch, multisig);
  checkWritable(rentPayer);
  checkMember(multisig, member, PERMISSION.initiate);
  ensure(member.address === batch.value.creator, 'Unauthorized');
  checkStatus(proposal, 'Draft');
  transaction.value = {
    bump,
    ephemeralSignerBumps: ephemeralBumps(batch.address, args.ephemeralSigners),
    message: readMessage(args.message),
  };
  batch.value = { ...batch.value, size };
  invocation.log(`batch index: ${batch.value.index}`);
  invocation.log(`batch size: ${size}`);
}

export function batchExecuteTransaction(call: SquadsCall<'batchExecuteTransaction'>): void {
  const { accounts, remaining, invocation } = call;
  const { multisig, member, proposal, batch, transaction } = accounts;
  const { index, size, vaultIndex, vaultBump } = batch.value;
  checkMultisig(multisig);
  checkProposal(proposal, multisig, index);
  checkBatch(batch, multisig);
  const number = nextNumber(batch.value.executedTransactionIndex);
  checkPlace(transaction, SEEDS.batchTransaction(multisig.address, index, number), transaction.value.bump);
  checkMayExecute({ multisig, member, proposal }, invocation);
  runMessage(invocation, remaining, {
    ...transaction.value,
    multisig: multisig.address,
    vaultIndex,
    vaultBump,
    parent: batch.address,
    protectedAccounts: [proposal.address, batch.address],
  });
  batch.value = { ...batch.value, executedTransactionIndex: number };
  if (number === size) proposal.value = inStatus(proposal.value, 'Executed', invocation);
}

export function vaultTransactionCreate(call: SquadsCall<'vaultTransactionCreate'>): void {
  const { transaction } = call.accounts;
  const { ephemeralSigners, message } = call.args;
  const size = (): number => ACCOUNT_SIZE.vaultTransaction(ephemeralSigners, storedSize(message));
  const begun = begin(call, transaction, size);
  transaction.value = {
    ...begun,
    ephemeralSignerBumps: ephemeralBumps(transaction.address, ephemeralSigners),
    message: readMessage(message),
  };
  call.invocation.log(`transaction index: ${begun.index}`);
}

export function vaultTransactionExecute(call: SquadsCall<'vaultTransactionExecute'>): void {
  const { accounts, remaining, invocation } = call;
  const { multisig, proposal, transaction, member } = accounts;
  const { index, bump } = transaction.value;
  checkMultisig(multisig);
  checkProposal(proposal, multisig, index);
  checkPlace(transaction, SEEDS.transaction(multisig.address, index), bump);
  checkMayExecute({ multisig, member, proposal }, invocation);
  runMessage(invocation, remaining, {
    ...transaction.value,
    multisig: multisig.address,
    parent: transaction.address,
    protectedAccounts: [proposal.address],
  });
  proposal.value = inStatus(proposal.value, 'Executed', invocation);
}

// Closing needs no signature (sections 7.12 and 7.13).

function checkReclaims(multisig: Loaded<Multisig>): void {
  checkMultisig(multisig);
  ensure(multisig.value.rentCollector !== null, 'RentReclamationDisabled', multisig);
}

function checkCollector(rentCollector: Loaded, multisig: Loaded<Multisig>): void {
  checkWritable(rentCollector);
  ensure(rentCollector.address === multisig.value.rentCollector, 'InvalidRentCollector', rentCollector);
}

function mayClose({ status }: Proposal, stale: boolean): boolean {
  switch (status.kind) {
    case 'Rejected':
    case 'Executed':
    case 'Cancelled':
      return true;
    case 'Draft':
    case 'Active':
      return stale;
    default:
      return false;
  }
}

/**
 * Checks the rules for closing a batch or vault transaction with its proposal.
 * @returns a function that closes the proposal, if there is one, then the batch or vault transaction.
 */
function closing(
  { accounts, invocation }: SquadsCall<'vaultTransactionAccountsClose'> | SquadsCall<'batchAccountsClose'>,
  closed: Loaded<Batch> | Loaded<VaultTransaction>,
): () => void {
  const { multisig, proposal, rentCollector } = accounts;
  const { index } = closed.value;
  checkReclaims(multisig);
  checkPlace(proposal, SEEDS.proposal(multisig.address, index), 'canonical');
  checkWritable(closed);
  ensure(closed.value.multisig === multisig.address, 'TransactionForAnotherMultisig', closed);
  ensure(closed.address !== rentCollector.address, 'ConstraintClose', closed);
  checkCollector(rentCollector, multisig);
  // Loading does not parse the proposal, because it may no longer exist.
  const { data } = invocation.get(proposal.address);
  const found = data.length === 0 ? null : decodeState(PROPOSAL, data);
  const stale = isStale(multisig.value, index);
  ensure(found === null ? stale : mayClose(found, stale), 'InvalidProposalStatus');
  return () => {
    if (found !== null) closeAccount(invocation, proposal, rentCollector);
    closeAccount(invocation, closed, rentCollector);
  };
}

export function vaultTransactionAccountsClose(call: SquadsCall<'vaultTransactionAccountsClose'>): void {
  closing(call, call.accounts.transaction)();
}

export function vaultBatchTransactionAccountClose(
  call: SquadsCall<'vaultBatchTransactionAccountClose'>,
): void {
  const { multisig, proposal, batch, transaction, rentCollector } = call.accounts;
  checkReclaims(multisig);
  ensure(proposal.value.multisig === multisig.address, 'ProposalForAnotherMultisig', proposal);
  checkWritable(batch);
  ensure(batch.value.multisig === multisig.address, 'TransactionForAnotherMultisig', batch);
  ensure(batch.value.index === proposal.value.transactionIndex, 'TransactionNotMatchingProposal', batch);
  checkWritable(transaction);
  ensure(transaction.address !== rentCollector.address, 'ConstraintClose', transaction);
  checkCollector(rentCollector, multisig);
  const last = SEEDS.batchTransaction(multisig.address, batch.value.index, batch.value.size);
  ensure(deriveWithBump(last, transaction.value.bump) === transaction.address, 'TransactionNotLastInBatch');
  const stale = isStale(multisig.value, proposal.value.transactionIndex);
  ensure(mayClose(proposal.value, stale), 'InvalidProposalStatus');
  batch.value = { ...batch.value, size: batch.value.size - 1 };
  closeAccount(call.invocation, transaction, rentCollector);
}

export function batchAccountsClose(call: SquadsCall<'batchAccountsClose'>): void {
  const { batch } = call.accounts;
  const close = closing(call, batch);
  ensure(batch.value.size === 0, 'BatchNotEmpty');
  close();
}
