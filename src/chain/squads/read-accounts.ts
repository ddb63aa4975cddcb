/** Reads the accounts of a batch: the expected address, the decoded value, or the reason why there is no value. */
import type { Address } from '../../values/address.js';
import type { AccountState } from '../account.js';
import type { ChainReader, Commitment } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import {
  type AccountLayout,
  BATCH,
  decodeAccount,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  VAULT_BATCH_TRANSACTION,
} from './accounts.js';
import { batchTransactionAddress, type derive, proposalAddress, transactionAddress } from './addresses.js';
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

function foundAt<Value extends object>(
  layout: AccountLayout<Value>,
  { address, bump }: ReturnType<typeof derive>,
  account: AccountState | null | undefined,
): Found<Value> {
  const { name } = layout;
  const found = (value: Value | null, problem = ''): Found<Value> => {
    return { address, bump, lamports: account?.lamports ?? 0n, value, problem };
  };
  if (account == null) return found(null, `The ${name} account ${address} does not exist`);
  const { owner, data } = account;
  if (owner !== SQUADS_PROGRAM)
    return found(null, `The ${name} account ${address} belongs to ${owner}, not to the Squads program`);
  const value = decodeAccount(layout, data);
  return value ? found(value) : found(null, `The account ${address} does not hold a Squads ${name}`);
}

const multisigAt = (address: Address, account: AccountState | null | undefined): Found<Multisig> =>
  foundAt(MULTISIG, { address, bump: 0 }, account);

export async function readMultisig(reader: ChainReader, address: Address): Promise<Found<Multisig>> {
  const [account] = await reader.getAccounts([address]);
  return multisigAt(address, account);
}

/**
 * Reads multisig, batch, proposal and the first `size` transactions with one `getAccounts`. Does not check that they belong to
 * an expected batch.
 */
export async function readBatchAccounts(
  reader: ChainReader,
  { multisig, batchIndex }: BatchRef,
  size: number,
  commitment?: Commitment,
) {
  const batchAt = transactionAddress(multisig, batchIndex);
  const proposalAt = proposalAddress(multisig, batchIndex);
  const places = Array.from({ length: size }, (_, index) =>
    batchTransactionAddress(multisig, batchIndex, index + 1),
  );
  const [multisigState, batchState, proposalState, ...states] = await reader.getAccounts(
    [multisig, ...[batchAt, proposalAt, ...places].map(({ address }) => address)],
    commitment,
  );
  return {
    multisig: multisigAt(multisig, multisigState),
    batch: foundAt(BATCH, batchAt, batchState),
    proposal: foundAt(PROPOSAL, proposalAt, proposalState),
    transactions: places.map((place, index) => foundAt(VAULT_BATCH_TRANSACTION, place, states[index])),
  };
}
