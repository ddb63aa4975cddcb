/** A batch as it stands on chain: its multisig, its proposal, its transactions, and what its accounts hold. */
import type { AccountState } from '../../chain/account.js';
import type { ChainReader } from '../../chain/chain.js';
import { SQUADS_PROGRAM } from '../../chain/programs.js';
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
} from '../../chain/squads/layouts/accounts.js';
import {
  batchTransactionAddress,
  proposalAddress,
  transactionAddress,
} from '../../chain/squads/layouts/addresses.js';
import { encode } from '../../chain/squads/layouts/codec.js';
import { argumentMessage } from '../../chain/squads/layouts/message.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord, FlywheelRecord } from '../../store/records.js';

export interface BatchOnChain {
  readonly multisig: Multisig;
  /** `null`: there is none, or none any more. */
  readonly proposal: Proposal | null;
  readonly batch: Batch | null;
  /** By the index of the pipeline. */
  readonly transactions: readonly (VaultBatchTransaction | null)[];
  /** What all these accounts, the multisig left out, hold together. */
  readonly lamports: bigint;
}

function decodeOwned<Value extends object>(
  layout: AccountLayout<Value>,
  account: AccountState | null | undefined,
): Value | null {
  if (account == null || account.owner !== SQUADS_PROGRAM) return null;
  return decodeAccount(layout, account.data) ?? null;
}

/**
 * Reads the accounts at the batch's index, all as of one moment. Whether they are this batch's own is not decided here: until
 * its set-up has landed, another batch may have taken the index.
 * @throws `ERR_FLYWHEEL_NOT_FOUND` when there is no multisig.
 */
export async function readBatchOnChain(
  chain: ChainReader,
  { multisig: address }: FlywheelRecord,
  { batchIndex, pipelines }: BatchRecord,
): Promise<BatchOnChain> {
  const [multisigAccount, ...accounts] = await chain.getAccounts([
    address,
    transactionAddress(address, batchIndex).address,
    proposalAddress(address, batchIndex).address,
    ...pipelines.map((_, index) => batchTransactionAddress(address, batchIndex, index + 1).address),
  ]);
  const multisig = decodeOwned(MULTISIG, multisigAccount);
  if (multisig === null)
    throw new FlywheelError('ERR_FLYWHEEL_NOT_FOUND', `There is no multisig at ${address}.`);
  const [batch, proposal, ...transactions] = accounts;
  return {
    multisig,
    batch: decodeOwned(BATCH, batch),
    proposal: decodeOwned(PROPOSAL, proposal),
    transactions: transactions.map((account) => decodeOwned(VAULT_BATCH_TRANSACTION, account)),
    lamports: accounts.reduce((sum, account) => sum + (account?.lamports ?? 0n), 0n),
  };
}

/** What differs from the plan, or `null` when the batch holds exactly what was planned. */
export function differenceFromPlan(
  { batch, proposal, transactions }: BatchOnChain,
  planned: BatchRecord,
  { vaultIndex }: FlywheelRecord,
): string | null {
  if (batch === null || proposal === null) return 'its accounts are gone';
  if (batch.size !== planned.pipelines.length) return `it holds ${batch.size} transactions`;
  if (batch.vaultIndex !== vaultIndex) return `it acts for vault ${batch.vaultIndex}`;
  const at = planned.pipelines.findIndex(({ message }, index) => {
    const stored = transactions[index];
    return (
      stored == null || Buffer.from(encode(argumentMessage, stored.message)).toString('base64') !== message
    );
  });
  return at < 0 ? null : `transaction ${at} is another one`;
}
