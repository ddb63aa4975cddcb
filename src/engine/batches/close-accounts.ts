/** After a batch is over, its accounts are closed and their rent goes back to the multisig's collector, once. */
import type { BatchHead, BatchRecord } from '../../store/records.js';
import { isoTime } from '../../values/time.js';
import { Advance, type HeldBatch, type Next } from './advance.js';
import { closeTransactions } from './batch-context.js';
import { type BatchState, readWhole } from './on-chain.js';

/** A final batch that may have left something on chain. */
export const needsClosing = ({ status, dateClosed }: BatchHead): boolean =>
  (status === 'EXECUTED' || status === 'FAILED') && dateClosed === null;

/**
 * May the program close it (squads-v4.md, section 7.12)? A batch that failed halfway stays approved on chain, and nothing of
 * it is closed.
 */
export function isCloseable({ proposal, multisig }: BatchState, { batchIndex }: BatchRecord): boolean {
  const kind = proposal?.status.kind;
  if (kind === 'Draft' || kind === 'Active') return batchIndex <= multisig.staleTransactionIndex;
  return kind === 'Rejected' || kind === 'Executed' || kind === 'Cancelled';
}

/**
 * Closes what a batch that is over occupies; its cost then says how much came back to operator or vault, and nothing where the
 * multisig gives it to somebody else. Where it has no rent collector nothing can be closed, and the rent stays where it is.
 *
 * @returns why they stay open, with a full stop, where they do; `null` when they are closed.
 */
export async function closeAccounts(held: HeldBatch): Promise<string | null> {
  const { deps, context, batch, lease } = held;
  const { operator, flywheel } = context;
  const { advance } = await Advance.open(held, ['CLOSE']);
  const next = async (state: BatchState): Promise<Next> => {
    if (!isCloseable(state, batch))
      return { stop: `Its proposal is ${state.proposal?.status.kind ?? 'gone'}.` };
    const { rentCollector } = state.multisig;
    if (rentCollector === null) return 'wait';
    // Some transactions may have been closed already, by a run that was cut off or by other tools: so these are new steps.
    const first = advance.countLanded('CLOSE');
    const transactions = closeTransactions(context, batch, state.batch?.size ?? 0, rentCollector);
    const instructions = (index: number) => transactions[index - first] ?? [];
    return { phase: 'CLOSE', first, end: first + transactions.length, instructions };
  };
  const end = await advance.run<BatchState>({
    read: (commitment) => readWhole(deps.chain, flywheel, batch, commitment),
    isReached: (state) => state.batch === null,
    next,
  });
  const failure = end?.failure ?? null;
  const collector = end?.state.multisig.rentCollector ?? null;
  const isOurs = collector === operator.address || collector === flywheel.vault;
  await lease.write(async (tx) => {
    await advance.write(tx);
    if (failure !== null) return;
    if (isOurs) await tx.batches.addCost(batch.id, { rentReclaimedLamports: batch.cost.rentPaidLamports });
    await tx.batches.setClosed(batch.id, isoTime(tx.nowMs));
  });
  return failure?.message ?? null;
}
