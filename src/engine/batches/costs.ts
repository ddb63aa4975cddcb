/** Cost of the transactions of batches: lamports of operator and vault before each transaction, minus those after it. */
import type { TransactionRecord } from '../../chain/chain.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import type { Reply } from '../../contract/call.js';
import type { ProjectRecord, TransactionCost } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import type { EngineDeps } from '../deps.js';

/** Without balances from a node only the fee is certain. */
function lostBy(
  { wire, balances, tableAddresses = [], feeLamports }: TransactionRecord,
  who: Address,
): number {
  const accounts = wire === null ? [] : [...decodeTransaction(wire).message.staticKeys, ...tableAddresses];
  const place = accounts.indexOf(who);
  const balance = balances?.[place];
  if (balance !== undefined) return Number(balance.before - balance.after);
  return place === 0 ? Number(feeLamports) : 0;
}

export const costOf = (record: TransactionRecord, project: ProjectRecord): TransactionCost => ({
  signature: record.signature,
  operatorLamports: lostBy(record, project.operator),
  vaultLamports: lostBy(record, project.vault),
});

/** Members sent the transaction with another tool, so its fee is not counted, even if the operator paid it. */
export function costOfMembers(record: TransactionRecord, project: ProjectRecord): TransactionCost {
  const cost = costOf(record, project);
  return { ...cost, operatorLamports: Math.min(0, cost.operatorLamports) };
}

/**
 * Counts issued votes that landed. A vote can land until it expires, also after its batch is over: it then fails, and the
 * operator pays its fee.
 */
export async function countVotes(
  { store, chain }: EngineDeps,
  scope: { readonly tokenId: string | null },
): Promise<void> {
  const votes = await store.read((tx) => tx.batches.openVotes(scope.tokenId ?? undefined));
  if (votes.length === 0) return;
  const traces = await chain.trace(
    votes.map(({ transaction, ...vote }) => ({ ...vote, bytes: transaction })),
  );
  const ended = votes.flatMap(({ batchId, signature, transaction }, at) => {
    const trace = traces[at];
    if (trace?.kind !== 'landed') {
      const isOver = trace?.kind === 'never' || trace?.isOver === true;
      return isOver ? [{ batchId, signature, costs: [] }] : [];
    }
    const [operator] = decodeTransaction(transaction).message.staticKeys as [Address];
    const costs = [{ signature, operatorLamports: lostBy(trace.record, operator), vaultLamports: 0 }];
    return trace.isFinal ? [{ batchId, signature, costs }] : [];
  });
  if (ended.length === 0) return;
  await store.transaction(async (tx) => {
    for (const { batchId, costs } of ended) await tx.batches.addCosts(batchId, costs);
    await tx.batches.endVotes(ended.map(({ signature }) => signature));
  }, scope);
}

export async function withCost<Value>(
  tx: StoreTransaction,
  batchId: string,
  value: Value,
  replayed = false,
): Promise<Reply<Value>> {
  return { value, meta: { replayed, cost: await tx.batches.cost(batchId) } };
}
