/** Reads the accounts of a batch from a chain: where each must be, what it holds, or why it holds nothing that can be used. */
import type { Address } from '../../values/address.js';
import type { AccountState } from '../account.js';
import type { ChainReader, Commitment } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import {
  type AccountLayout,
  BATCH,
  type Batch,
  decodeAccount,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
  VAULT_BATCH_TRANSACTION,
  type VaultBatchTransaction,
} from './accounts.js';
import {
  batchTransactionAddress,
  type DerivedAddress,
  proposalAddress,
  transactionAddress,
} from './addresses.js';
import type { BatchRef } from './builders.js';

/** An account as it was found; its owner and type mark have been checked, what its fields say has not. */
export interface Found<Value> {
  readonly address: Address;
  readonly lamports: bigint;
  readonly value: Value | null;
  /** Why there is no value; no full stop. */
  readonly problem: string;
}

/** An account at an address that follows from what it is. */
export interface FoundAt<Value> extends Found<Value> {
  /** Of the address; the account has to state the same. */
  readonly bump: number;
}

interface BatchAccounts {
  readonly multisig: Found<Multisig>;
  readonly batch: FoundAt<Batch>;
  readonly proposal: FoundAt<Proposal>;
  /** In their order. */
  readonly transactions: readonly FoundAt<VaultBatchTransaction>[];
}

/** Why an account holds nothing of this kind, or what it holds. */
function held<Value>(
  layout: AccountLayout<Value>,
  address: Address,
  account: AccountState | null | undefined,
): Value | string {
  const { name } = layout;
  if (account == null) return `The ${name} account ${address} does not exist`;
  if (account.owner !== SQUADS_PROGRAM)
    return `The ${name} account ${address} belongs to ${account.owner}, not to the Squads program`;
  return decodeAccount(layout, account.data) ?? `The account ${address} does not hold a Squads ${name}`;
}

function foundAt<Value extends object>(
  layout: AccountLayout<Value>,
  { address, bump }: DerivedAddress,
  account: AccountState | null | undefined,
): FoundAt<Value> {
  const value = held(layout, address, account);
  const outcome = typeof value === 'string' ? { value: null, problem: value } : { value, problem: '' };
  return { address, bump, lamports: account?.lamports ?? 0n, ...outcome };
}

const multisigAt = (address: Address, account: AccountState | null | undefined): Found<Multisig> =>
  foundAt(MULTISIG, { address, bump: 0 }, account);

export async function readMultisig(reader: ChainReader, address: Address): Promise<Found<Multisig>> {
  const [account] = await reader.getAccounts([address]);
  return multisigAt(address, account);
}

const transactionPlaces = ({ multisig, batchIndex }: BatchRef, size: number): readonly DerivedAddress[] =>
  Array.from({ length: size }, (_, index) => batchTransactionAddress(multisig, batchIndex, index + 1));

/**
 * Reads multisig, batch, proposal and the first `size` transactions, all as of one point in time. Whether the accounts at this index
 * are those of a certain batch is not decided here.
 */
export async function readBatchAccounts(
  reader: ChainReader,
  ref: BatchRef,
  size: number,
  commitment?: Commitment,
): Promise<BatchAccounts> {
  const { multisig, batchIndex } = ref;
  const batchAt = transactionAddress(multisig, batchIndex);
  const proposalAt = proposalAddress(multisig, batchIndex);
  const places = transactionPlaces(ref, size);
  const addresses = [multisig, batchAt.address, proposalAt.address, ...places.map(({ address }) => address)];
  const [multisigState, batchState, proposalState, ...states] = await reader.getAccounts(
    addresses,
    commitment,
  );
  return {
    multisig: multisigAt(multisig, multisigState),
    batch: foundAt(BATCH, batchAt, batchState),
    proposal: foundAt(PROPOSAL, proposalAt, proposalState),
    transactions: places.map((place, index) => foundAt(VAULT_BATCH_TRANSACTION, place, states[index])),
  };
}

/** The transactions alone, for those who learn from the batch how many there are. */
export async function readBatchTransactions(
  reader: ChainReader,
  ref: BatchRef,
  size: number,
): Promise<BatchAccounts['transactions']> {
  const places = transactionPlaces(ref, size);
  const states = places.length === 0 ? [] : await reader.getAccounts(places.map(({ address }) => address));
  return places.map((place, index) => foundAt(VAULT_BATCH_TRANSACTION, place, states[index]));
}
