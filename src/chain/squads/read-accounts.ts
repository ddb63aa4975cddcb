/** Reads the accounts of a batch: the expected address, the decoded value, or the reason why there is no value. */
import type { Address } from '../../values/address.js';
import { partOf, type ReadonlyBytes, viewOf } from '../../values/bytes.js';
import type { AccountState } from '../account.js';
import type { ChainReader, Commitment } from '../chain.js';
import { key, struct, tryDecode, u32 } from '../codec.js';
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
  /** Bump of the derivation, which the account must state too; 0 for a multisig, whose derivation needs its own value. */
  readonly bump: number;
}

interface BatchAccounts {
  readonly multisig: Found<Multisig>;
  readonly batch: Found<Batch>;
  readonly proposal: Found<Proposal>;
  readonly transactions: readonly Found<VaultBatchTransaction>[];
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
): Found<Value> {
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

/** Accounts of the loader: state, then address of the code (solana-loader-v3-interface, `UpgradeableLoaderState`). */
const programFields = struct({ state: u32, code: key });
const PROGRAM = 2;
const PROGRAM_DATA = 3;
/** State, slot of the last deployment, and upgrade authority. */
const PROGRAM_DATA_HEAD_BYTES = 45;

/** The deployed bytes of the Squads program. @returns `null` if the cluster does not have the program. */
export async function readDeployedSquads(chain: ChainReader): Promise<ReadonlyBytes | null> {
  const [program] = await chain.getAccounts([SQUADS_PROGRAM]);
  const named = program?.owner === UPGRADEABLE_LOADER ? tryDecode(programFields, program.data) : undefined;
  if (named?.state !== PROGRAM) return null;
  const [code] = await chain.getAccounts([named.code]);
  if (code?.owner !== UPGRADEABLE_LOADER || code.data.length < PROGRAM_DATA_HEAD_BYTES) return null;
  const isCode = viewOf(code.data).getUint32(0, true) === PROGRAM_DATA;
  return isCode ? partOf(code.data, PROGRAM_DATA_HEAD_BYTES) : null;
}
