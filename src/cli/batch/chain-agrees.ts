/** Whether the chain bears out what a service says of a batch: of two that differ, none is believed. */
import type { ChainReader } from '../../chain/chain.js';
import { BATCH, decodeAccount, PROPOSAL } from '../../chain/squads/layouts/accounts.js';
import { proposalAddress, transactionAddress } from '../../chain/squads/layouts/addresses.js';
import type { Batch } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';
import type { OpenedService } from '../context.js';

/** How far a batch is on chain. */
interface Progress {
  readonly proposal: string;
  readonly executed: number;
}

/** `null`: its accounts are closed. */
async function readProgress(
  chain: ChainReader,
  multisigText: string,
  batchIndex: bigint,
): Promise<Progress | null> {
  const multisig = address(multisigText);
  const [batch, proposal] = await chain.getAccounts([
    transactionAddress(multisig, batchIndex).address,
    proposalAddress(multisig, batchIndex).address,
  ]);
  const onChain = batch == null ? undefined : decodeAccount(BATCH, batch.data);
  const vote = proposal == null ? undefined : decodeAccount(PROPOSAL, proposal.data);
  if (onChain === undefined || vote === undefined) return null;
  return { proposal: vote.status.kind, executed: onChain.executedTransactionIndex };
}

/**
 * Holds what a service says against the user's own chain, if there is one. The embedded engine and its ledger are one.
 * @param landed - how many transactions the service says were executed.
 * @throws `ERR_OUTCOME_UNKNOWN` when the chain says otherwise.
 */
export async function requireChainAgrees(
  { kind, chain, trusted }: Pick<OpenedService, 'kind' | 'chain' | 'trusted'>,
  batch: Pick<Batch, 'id' | 'batchIndex' | 'dateCancelled'>,
  { landed, total }: { readonly landed: number; readonly total: number },
): Promise<void> {
  if (kind === 'embedded' || chain === null || trusted === null) return;
  if (batch.dateCancelled !== undefined) return;
  const found = await readProgress(chain, trusted.multisig, BigInt(batch.batchIndex));
  const said = `The service says that ${landed} of ${total} transactions of batch ${batch.id} were executed`;
  if (found === null) {
    if (landed === total) return;
    throw contradiction(
      batch.id,
      `${said}; on chain its accounts are closed, which is done when it is over.`,
    );
  }
  if (found.executed === landed) return;
  throw contradiction(
    batch.id,
    `${said}; on chain it is ${found.executed}, and the proposal is ${found.proposal}.`,
  );
}

const contradiction = (batchId: string, message: string): FlywheelError =>
  new FlywheelError('ERR_OUTCOME_UNKNOWN', message, {
    hint: `Do not do it again before this is cleared up: \`flywheel batch status ${batchId}\`, and a block explorer.`,
  });
