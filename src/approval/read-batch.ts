/** Chain accounts → what a batch of a multisig will really do; whether that is right is decided elsewhere. */

import { contentDigest, type PipelineContent } from '../actions/pipelines.js';
import { describeInstruction } from '../actions/registry.js';
import type { AccountState } from '../chain/account.js';
import type { ChainReader } from '../chain/chain.js';
import { SQUADS_PROGRAM } from '../chain/programs.js';
import type { BatchRef } from '../chain/squads/instructions/batch.js';
import { vaultMessageInstructions } from '../chain/squads/instructions/vault-message.js';
import {
  type AccountLayout,
  BATCH,
  type Batch,
  decodeAccount,
  MULTISIG,
  type Multisig,
  PERMISSION,
  PROPOSAL,
  type Proposal,
  VAULT_BATCH_TRANSACTION,
} from '../chain/squads/layouts/accounts.js';
import {
  batchTransactionAddress,
  type DerivedAddress,
  multisigAddress,
  proposalAddress,
  transactionAddress,
  vaultAddress,
} from '../chain/squads/layouts/addresses.js';
import type { Address } from '../values/address.js';
import type { Sha256 } from '../values/digest.js';
import type { DecodedTransaction } from './decoded-transaction.js';
import { readPipelines } from './read-pipelines.js';
import { ensure, refuse } from './refuse.js';

/** What a batch is and will do, all of it from chain. */
export interface BatchDescription extends BatchRef {
  readonly multisigAccount: Multisig;
  readonly proposalAddress: Address;
  readonly proposal: Proposal;
  readonly batchAddress: Address;
  readonly batch: Batch;
  /** The vault that all transactions act for, re-derived. */
  readonly vault: Address;
  readonly transactions: readonly DecodedTransaction[];
  /** The pipelines that the content stands for, or `null` if it is not that of pipelines. */
  readonly pipelines: readonly PipelineContent[] | null;
  /** Why it is not, or `null`. */
  readonly pipelinesProblem: string | null;
  /** Digest that a pipelines file of the same content has, or `null`. */
  readonly digest: Sha256 | null;
}

/** The value of an account of Squads that must be there. */
function readState<Value>(
  layout: AccountLayout<Value>,
  address: Address,
  account: AccountState | null | undefined,
): Value {
  ensure(
    account !== null && account !== undefined,
    () => `The ${layout.name} account ${address} does not exist`,
  );
  ensure(
    account.owner === SQUADS_PROGRAM,
    () => `The ${layout.name} account ${address} belongs to ${account.owner}, not to the Squads program`,
  );
  return (
    decodeAccount(layout, account.data) ??
    refuse(`The account ${address} does not hold a ${layout.name} of Squads`)
  );
}

function readMultisig(address: Address, account: AccountState | null | undefined): Multisig {
  const multisig = readState(MULTISIG, address, account);
  const derived = multisigAddress(multisig.createKey);
  ensure(
    derived.address === address && derived.bump === multisig.bump,
    () => `The account ${address} is not at the address of a multisig`,
  );
  return multisig;
}

/**
 * The members of a multisig who may vote.
 * @throws `ERR_APPROVAL_REFUSED` when there is no such multisig, `ERR_UNAVAILABLE` from the reader.
 */
export async function readVoters(reader: ChainReader, multisig: Address): Promise<readonly Address[]> {
  const [account] = await reader.getAccounts([multisig]);
  const { members } = readMultisig(multisig, account);
  return members.filter(({ permissions }) => (permissions & PERMISSION.vote) !== 0).map(({ key }) => key);
}

function checkBatch(batch: Batch, derived: DerivedAddress, { multisig, batchIndex }: BatchRef): Address {
  const vault = vaultAddress(multisig, batch.vaultIndex);
  ensure(
    batch.multisig === multisig && batch.index === batchIndex && batch.bump === derived.bump,
    () => `The batch ${derived.address} says it is number ${batch.index} of the multisig ${batch.multisig}`,
  );
  ensure(
    vault.bump === batch.vaultBump,
    () => `The batch ${derived.address} acts for another address than its vault`,
  );
  return vault.address;
}

function checkProposal(
  proposal: Proposal,
  derived: DerivedAddress,
  { multisig, batchIndex }: BatchRef,
): void {
  ensure(
    proposal.multisig === multisig &&
      proposal.transactionIndex === batchIndex &&
      proposal.bump === derived.bump,
    () =>
      `The proposal ${derived.address} says it is for number ${proposal.transactionIndex} of the multisig ${proposal.multisig}`,
  );
}

/** Decodes one transaction of a batch; an unclear content becomes its `problem`, a wrong account is refused. */
function readTransaction(
  number: number,
  { address, bump }: DerivedAddress,
  account: AccountState | null | undefined,
): DecodedTransaction {
  const state = readState(VAULT_BATCH_TRANSACTION, address, account);
  ensure(state.bump === bump, () => `The transaction ${number} at ${address} states another bump`);
  const { message } = state;
  const instructions = vaultMessageInstructions(message);
  const signers = message.keys.slice(0, message.signers);
  const common = { number, address, signers, ephemeralSigners: state.ephemeralSignerBumps.length };
  if (instructions !== undefined)
    return { ...common, operations: instructions.map(describeInstruction), problem: null };
  const problem =
    message.lookups.length > 0 ? 'its accounts come from a lookup table' : 'its message is malformed';
  return { ...common, operations: [], problem };
}

/**
 * Reads a batch with two calls to the chain: multisig, batch and proposal, then all transactions. Owners, type marks and
 * re-derived addresses are checked.
 *
 * @throws `ERR_APPROVAL_REFUSED` when an account is missing or not what it should be, `ERR_UNAVAILABLE` from the reader.
 */
export async function readBatch(reader: ChainReader, ref: BatchRef): Promise<BatchDescription> {
  const { multisig, batchIndex } = ref;
  const batchAt = transactionAddress(multisig, batchIndex);
  const proposalAt = proposalAddress(multisig, batchIndex);
  const [multisigState, batchState, proposalState] = await reader.getAccounts([
    multisig,
    batchAt.address,
    proposalAt.address,
  ]);
  const multisigAccount = readMultisig(multisig, multisigState);
  const batch = readState(BATCH, batchAt.address, batchState);
  const vault = checkBatch(batch, batchAt, ref);
  const proposal = readState(PROPOSAL, proposalAt.address, proposalState);
  checkProposal(proposal, proposalAt, ref);

  const places = Array.from({ length: batch.size }, (_, index) =>
    batchTransactionAddress(multisig, batchIndex, index + 1),
  );
  const states = places.length === 0 ? [] : await reader.getAccounts(places.map(({ address }) => address));
  const transactions = places.map((place, index) => readTransaction(index + 1, place, states[index]));
  return {
    multisig,
    batchIndex,
    multisigAccount,
    proposalAddress: proposalAt.address,
    proposal,
    batchAddress: batchAt.address,
    batch,
    vault,
    transactions,
    ...interpret(transactions, vault),
  };
}

/** What the transactions stand for, as far as they can be told. */
function interpret(
  transactions: readonly DecodedTransaction[],
  vault: Address,
): Pick<BatchDescription, 'pipelines' | 'pipelinesProblem' | 'digest'> {
  const read = readPipelines(transactions, vault);
  if ('problem' in read) return { pipelines: null, pipelinesProblem: read.problem, digest: null };
  const { pipelines, decimals } = read;
  return { pipelines, pipelinesProblem: null, digest: contentDigest(pipelines, decimals) };
}
