/** Reads the accounts of a batch: the expected address, the decoded value, or the reason why there is no value. */
import { type Address, addressFromBytes } from '../../values/address.js';
import { partOf, type ReadonlyBytes, viewOf } from '../../values/bytes.js';
import type { AccountState } from '../account.js';
import type { ChainReader, Commitment } from '../chain.js';
import { SQUADS_PROGRAM, UPGRADEABLE_LOADER } from '../programs.js';
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

export interface Found<Value> {
  readonly address: Address;
  readonly lamports: bigint;
  readonly value: Value | null;
  /** Why there is no value, without a full stop; else ''. */
  readonly problem: string;
}

export interface FoundAt<Value> extends Found<Value> {
  /** Bump of the derivation; the account must state the same. */
  readonly bump: number;
}

interface BatchAccounts {
  readonly multisig: Found<Multisig>;
  readonly batch: FoundAt<Batch>;
  readonly proposal: FoundAt<Proposal>;
  readonly transactions: readonly FoundAt<VaultBatchTransaction>[];
}

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
 * Reads multisig, batch, proposal and the first `size` transactions with one `getAccounts`. Does not check that they belong to
 * an expected batch.
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

export async function readBatchTransactions(
  reader: ChainReader,
  ref: BatchRef,
  size: number,
): Promise<BatchAccounts['transactions']> {
  const places = transactionPlaces(ref, size);
  const states = places.length === 0 ? [] : await reader.getAccounts(places.map(({ address }) => address));
  return places.map((place, index) => foundAt(VAULT_BATCH_TRANSACTION, place, states[index]));
}

// States of the loader's accounts, a u32 before their fields (solana-loader-v3-interface, `UpgradeableLoaderState`).
const PROGRAM = 2;
const PROGRAM_DATA = 3;
/** State, and the address of the account with the code. */
const PROGRAM_BYTES = 36;
/** State, slot of the last deployment, and upgrade authority. */
const PROGRAM_DATA_HEAD_BYTES = 45;

function stateOf(account: AccountState | null | undefined, state: number, leastBytes: number) {
  if (account?.owner !== UPGRADEABLE_LOADER || account.data.length < leastBytes) return undefined;
  return viewOf(account.data).getUint32(0, true) === state ? account.data : undefined;
}

/** The deployed bytes of the Squads program. @returns `null` if the cluster does not have the program. */
export async function readDeployedSquads(chain: ChainReader): Promise<ReadonlyBytes | null> {
  const [program] = await chain.getAccounts([SQUADS_PROGRAM]);
  const named = stateOf(program, PROGRAM, PROGRAM_BYTES);
  if (named === undefined) return null;
  const [code] = await chain.getAccounts([addressFromBytes(partOf(named, 4, PROGRAM_BYTES))]);
  const data = stateOf(code, PROGRAM_DATA, PROGRAM_DATA_HEAD_BYTES);
  return data === undefined ? null : partOf(data, PROGRAM_DATA_HEAD_BYTES, data.length);
}
