/** Reads from chain what a batch will do. Whether that is allowed is decided elsewhere. */

import type { ChainReader } from '../chain/chain.js';
import type { Batch, Multisig, Proposal, VaultBatchTransaction } from '../chain/squads/accounts.js';
import { multisigAddress, vaultAddress } from '../chain/squads/addresses.js';
import type { BatchRef } from '../chain/squads/builders.js';
import { type Found, readBatchAccounts, readMultisig } from '../chain/squads/read-accounts.js';
import type { Address } from '../values/address.js';
import {
  type BatchContent,
  contentOf,
  type DecodedTransaction,
  decodedTransaction,
} from './batch-content.js';
import { ensure, refuse } from './pins.js';

/** The service's limit of pipelines. A node can claim any number. */
const MAX_BATCH_SIZE = 1_000;

export interface BatchDescription extends BatchRef, BatchContent {
  readonly multisigAccount: Multisig;
  readonly proposalAddress: Address;
  readonly proposal: Proposal;
  readonly batchAddress: Address;
  readonly batch: Batch;
  readonly rentLamports: bigint;
}

/** @throws `ERR_APPROVAL_REFUSED` */
const required = <Value>({ value, problem }: Found<Value>): Value => value ?? refuse(problem);

function requiredMultisig(found: Found<Multisig>): Multisig {
  const { address } = found;
  const multisig = required(found);
  const derived = multisigAddress(multisig.createKey);
  ensure(
    derived.address === address && derived.bump === multisig.bump,
    () => `${address} is not the address of a multisig`,
  );
  return multisig;
}

/** @throws `ERR_APPROVAL_REFUSED`, `ERR_UNAVAILABLE` */
export const readMultisigAccount = async (reader: ChainReader, multisig: Address): Promise<Multisig> =>
  requiredMultisig(await readMultisig(reader, multisig));

function requiredSize(found: Found<Batch>): number {
  const { size } = required(found);
  ensure(
    size <= MAX_BATCH_SIZE,
    () => `The batch ${found.address} says it has ${size} transactions; the limit is ${MAX_BATCH_SIZE}`,
  );
  return size;
}

function requiredBatch(found: Found<Batch>, { multisig, batchIndex }: BatchRef): [Batch, Address] {
  const batch = required(found);
  const vault = vaultAddress(multisig, batch.vaultIndex);
  ensure(
    batch.multisig === multisig && batch.index === batchIndex && batch.bump === found.bump,
    () => `The batch ${found.address} says it is number ${batch.index} of the multisig ${batch.multisig}`,
  );
  ensure(
    vault.bump === batch.vaultBump,
    () => `The batch ${found.address} does not belong to the vault of its multisig`,
  );
  return [batch, vault.address];
}

function requiredProposal(found: Found<Proposal>, { multisig, batchIndex }: BatchRef): Proposal {
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

/** Unclear content becomes the `problem`; a wrong account is refused. */
function readTransaction(number: number, found: Found<VaultBatchTransaction>): DecodedTransaction {
  const { address, bump } = found;
  const state = required(found);
  ensure(state.bump === bump, () => `Transaction ${number} of the batch, at ${address}, has a wrong bump`);
  const { message, ephemeralSignerBumps } = state;
  return decodedTransaction({ number, address, message, ephemeralSigners: ephemeralSignerBumps.length });
}

/**
 * Two calls: the size of the batch, then everything as of one point in time. Checks owners, type marks and re-derived
 * addresses.
 * @throws `ERR_APPROVAL_REFUSED` when an account is missing or wrong, `ERR_UNAVAILABLE` from the reader.
 */
export async function readBatch(reader: ChainReader, ref: BatchRef): Promise<BatchDescription> {
  const { multisig, batchIndex } = ref;
  const first = await readBatchAccounts(reader, ref, 0);
  requiredMultisig(first.multisig);
  const size = requiredSize(first.batch);
  const found = await readBatchAccounts(reader, ref, size);
  const multisigAccount = requiredMultisig(found.multisig);
  const [batch, vault] = requiredBatch(found.batch, ref);
  const proposal = requiredProposal(found.proposal, ref);
  ensure(batch.size === size, () => `The batch ${found.batch.address} changed while it was read`);
  const states = found.transactions;
  const transactions = states.map((state, index) => readTransaction(index + 1, state));
  return {
    multisig,
    batchIndex,
    multisigAccount,
    proposalAddress: found.proposal.address,
    proposal,
    batchAddress: found.batch.address,
    batch,
    rentLamports: [found.batch, found.proposal, ...states].reduce((sum, { lamports }) => sum + lamports, 0n),
    ...contentOf(transactions, vault),
  };
}
