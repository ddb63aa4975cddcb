/** Multisigs, batches and vault transactions: made, filled, executed (docs/squads-v4.md, sections 7.1, 7.2, 7.4, 7.10 and 7.11). */

import { transfer } from '../../small-programs.js';
import { ACCOUNT_SIZE, type Multisig, NO_AUTHORITY, PERMISSION } from '../../squads/accounts.js';
import { derive, SEEDS } from '../../squads/addresses.js';
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
  compareKeys,
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

/** The next number of a batch or vault transaction; the program stops where the counter would overflow. */
const nextIndex = ({ transactionIndex }: Multisig): bigint =>
  transactionIndex < U64_MAX ? transactionIndex + 1n : panic();

const U32_MAX = 2 ** 32 - 1;

/** The program stops where a counter would overflow. */
const nextNumber = (number: number): number => (number < U32_MAX ? number + 1 : panic());

/** What batches and vault transactions begin with: the next index, for a vault. */
function begin(
  { accounts, args, invocation }: SquadsCall<'batchCreate'> | SquadsCall<'vaultTransactionCreate'>,
  made: Loaded,
  size: () => number,
) {
  const { multisig, creator, rentPayer } = accounts;
  const { vaultIndex } = args;
  const index = nextIndex(multisig.value);
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
