/** Whether the chain bears out what a service says of a batch: of two that differ, none is believed. */
import type { ChainReader } from '../../chain/chain.js';
import { BATCH, decodeAccount, MULTISIG, PROPOSAL } from '../../chain/squads/accounts.js';
import { proposalAddress, transactionAddress } from '../../chain/squads/addresses.js';
import { type PastBatch, readPastBatch } from '../../chain/squads/history.js';
import type { Batch, ExecuteResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';
import type { OpenedService } from '../context.js';

/** How far a batch is on chain. */
interface Progress {
  readonly proposal: string;
  readonly executed: number;
  /** What is left of it can still be executed, now or after further votes. */
  readonly isOpen: boolean;
}

/** `null`: its accounts are closed. */
async function readProgress(
  chain: ChainReader,
  multisigText: string,
  batchIndex: bigint,
): Promise<Progress | null> {
  const multisig = address(multisigText);
  const [members, batch, proposal] = await chain.getAccounts([
    multisig,
    transactionAddress(multisig, batchIndex).address,
    proposalAddress(multisig, batchIndex).address,
  ]);
  const settings = members == null ? undefined : decodeAccount(MULTISIG, members.data);
  const onChain = batch == null ? undefined : decodeAccount(BATCH, batch.data);
  const vote = proposal == null ? undefined : decodeAccount(PROPOSAL, proposal.data);
  if (settings === undefined || onChain === undefined || vote === undefined) return null;
  const { kind } = vote.status;
  // A proposal that settings of the multisig have overtaken takes no more votes; an approved one is executed nevertheless.
  const takesVotes = batchIndex > settings.staleTransactionIndex;
  const isOpen = kind === 'Approved' || (takesVotes && (kind === 'Draft' || kind === 'Active'));
  return { proposal: kind, executed: onChain.executedTransactionIndex, isOpen };
}

/** What somebody else than the service knows of a batch. */
interface KnownBatch {
  /** Its accounts were on chain. */
  readonly wasSetUp?: boolean;
  /** Transactions that it was set up with. */
  readonly size?: number;
}

/** Does the service say that anything of the batch got there? */
export const isSetUp = ({ initResult }: Pick<Batch, 'initResult'>): boolean =>
  (initResult?.totalSuccessful ?? 0) > 0;

/**
 * Holds what a service says against the user's own chain, if there is one. The embedded engine and its ledger are one.
 * @param result - what the service says was executed.
 * @param known - of the batch, whatever the service says of it now; else its word is taken.
 * @throws `ERR_OUTCOME_UNKNOWN` when the chain says otherwise.
 */
export async function requireChainAgrees(
  { kind, chain, history, pins }: Pick<OpenedService, 'kind' | 'chain' | 'history' | 'pins'>,
  batch: Pick<Batch, 'id' | 'batchIndex' | 'dateCancelled' | 'initResult'>,
  { totalSuccessful: landed, total }: Pick<ExecuteResult, 'totalSuccessful' | 'total'>,
  { wasSetUp = isSetUp(batch), size = total }: KnownBatch = {},
): Promise<void> {
  if (total !== size)
    throw contradiction(
      batch.id,
      `The service says that batch ${batch.id} holds ${total} transactions, not ${size}.`,
    );
  if (kind === 'embedded' || chain === null || history === null || pins === null) return;
  // Of what never got there nothing is on chain, and its index may be another's.
  if (!wasSetUp) return;
  const found = await readProgress(chain, pins.multisig, BigInt(batch.batchIndex));
  const isCancelled = batch.dateCancelled !== undefined;
  const said = `The service says that ${landed} of ${total} transactions of batch ${batch.id} were executed${isCancelled ? ' and that it is cancelled' : ''}`;
  if (found !== null) {
    if (found.executed === landed && !(isCancelled && found.isOpen)) return;
    throw contradiction(
      batch.id,
      `${said}. On chain it is ${found.executed}, and the proposal is ${found.proposal}.`,
    );
  }
  if (landed === total && total > 0 && !isCancelled) return;
  const closed = `${said}; on chain it is over and closed`;
  if (!isCancelled) throw contradiction(batch.id, `${closed}.`);
  const ref = { multisig: pins.multisig, batchIndex: BigInt(batch.batchIndex) };
  const executed = executedOf(await readPastBatch(chain, history, ref));
  if (executed === landed) return;
  const known = executed === null ? 'the RPC node does not know how many were' : `${executed} were`;
  throw contradiction(batch.id, `${closed}, and ${known}.`);
}

const executedOf = (past: PastBatch | null): number | null =>
  past?.transactions.filter(({ executed }) => executed !== null).length ?? null;

const contradiction = (batchId: string, message: string): FlywheelError =>
  new FlywheelError('ERR_OUTCOME_UNKNOWN', message, {
    hint: `Do not run it again before you know which is right: \`flywheel batch status ${batchId}\`, and a block explorer.`,
  });
