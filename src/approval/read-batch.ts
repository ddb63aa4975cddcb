/** Chain accounts → what a batch of a multisig will really do; whether that is right is decided elsewhere. */

import { contentDigest, type PipelineContent } from '../actions/pipelines.js';
import { describeInstruction } from '../actions/registry.js';
import type { ChainReader } from '../chain/chain.js';
import type { BatchRef } from '../chain/squads/instructions/batch.js';
import { vaultMessageInstructions } from '../chain/squads/instructions/vault-message.js';
import type { Batch, Multisig, Proposal, VaultBatchTransaction } from '../chain/squads/layouts/accounts.js';
import { multisigAddress, vaultAddress } from '../chain/squads/layouts/addresses.js';
import {
  type Found,
  type FoundAt,
  readBatchAccounts,
  readBatchTransactions,
  readMultisig,
} from '../chain/squads/read-accounts.js';
import type { Address } from '../values/address.js';
import type { Sha256 } from '../values/digest.js';
import type { DecodedTransaction } from './decoded-transaction.js';
import { readPipelines } from './read-pipelines.js';
import { ensure, refuse } from './refuse.js';

/** Most transactions of a batch that are read: as many as the service takes pipelines. A node can claim any number. */
const MAX_BATCH_SIZE = 1_000;

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

/** @throws `ERR_APPROVAL_REFUSED` when the account holds nothing of the kind. */
const required = <Value>({ value, problem }: Found<Value>): Value => value ?? refuse(problem);

function requiredMultisig(found: Found<Multisig>): Multisig {
  const { address } = found;
  const multisig = required(found);
  const derived = multisigAddress(multisig.createKey);
  ensure(
    derived.address === address && derived.bump === multisig.bump,
    () => `The account ${address} is not at the address of a multisig`,
  );
  return multisig;
}

/**
 * The multisig itself, without a batch of it.
 * @throws `ERR_APPROVAL_REFUSED` when there is no such multisig, `ERR_UNAVAILABLE` from the reader.
 */
export const readMultisigAccount = async (reader: ChainReader, multisig: Address): Promise<Multisig> =>
  requiredMultisig(await readMultisig(reader, multisig));

function requiredBatch(found: FoundAt<Batch>, { multisig, batchIndex }: BatchRef): [Batch, Address] {
  const batch = required(found);
  const vault = vaultAddress(multisig, batch.vaultIndex);
  ensure(
    batch.size <= MAX_BATCH_SIZE,
    () =>
      `The batch ${found.address} says it holds ${batch.size} transactions, the limit is ${MAX_BATCH_SIZE}`,
  );
  ensure(
    batch.multisig === multisig && batch.index === batchIndex && batch.bump === found.bump,
    () => `The batch ${found.address} says it is number ${batch.index} of the multisig ${batch.multisig}`,
  );
  ensure(
    vault.bump === batch.vaultBump,
    () => `The batch ${found.address} acts for another address than its vault`,
  );
  return [batch, vault.address];
}

function requiredProposal(found: FoundAt<Proposal>, { multisig, batchIndex }: BatchRef): Proposal {
  const proposal = required(found);
  ensure(
    proposal.multisig === multisig &&
      proposal.transactionIndex === batchIndex &&
      proposal.bump === found.bump,
    () =>
      `The proposal ${found.address} says it is for number ${proposal.transactionIndex} of the multisig ${proposal.multisig}`,
  );
  return proposal;
}

/** Decodes one transaction of a batch; an unclear content becomes its `problem`, a wrong account is refused. */
function readTransaction(number: number, found: FoundAt<VaultBatchTransaction>): DecodedTransaction {
  const { address, bump } = found;
  const state = required(found);
  ensure(state.bump === bump, () => `The transaction ${number} at ${address} states another bump`);
  const { message } = state;
  const instructions = vaultMessageInstructions(message);
  const signers = message.keys.slice(0, message.signers);
  const common = { number, address, message, signers, ephemeralSigners: state.ephemeralSignerBumps.length };
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
  const found = await readBatchAccounts(reader, ref, 0);
  const multisigAccount = requiredMultisig(found.multisig);
  const [batch, vault] = requiredBatch(found.batch, ref);
  const proposal = requiredProposal(found.proposal, ref);
  const transactions = (await readBatchTransactions(reader, ref, batch.size)).map((transaction, index) =>
    readTransaction(index + 1, transaction),
  );
  return {
    multisig,
    batchIndex,
    multisigAccount,
    proposalAddress: found.proposal.address,
    proposal,
    batchAddress: found.batch.address,
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
