/** What approvals cost, counted once each, also those that an engine landed and did not live to write down. */
import type { TransactionRecord } from '../../chain/chain.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, BundleRecord, BundleTransaction } from '../../store/records.js';
import { base58Encode } from '../../values/base58.js';
import type { EngineDeps } from '../deps.js';
import { bundleId } from './phase.js';

export interface ApprovalCosts {
  readonly deps: EngineDeps;
  readonly batch: BatchRecord;
  /** Bundles of the batch as they are stored now. */
  readonly stored: readonly BundleRecord[];
  /** The approval that came with this execute. */
  readonly approval: BundleTransaction;
}

/** Adds the fees of approvals that have landed and are not counted yet. */
export async function countApprovals({ deps, batch, stored, approval }: ApprovalCosts): Promise<void> {
  const counted = new Set(
    stored.flatMap(({ transactions }) => transactions.map(({ signature }) => signature)),
  );
  const ofOwner = [issuedApproval(batch), approval]
    .filter(({ signature }, index, all) => all.findIndex((one) => one.signature === signature) === index)
    .filter(({ signature }) => !counted.has(signature))
    .map((transaction) => ownerBundle(deps, batch, transaction));
  const pending = stored.filter(({ phase, status }) => phase === 'OPERATOR_APPROVAL' && status === 'PENDING');
  const bundles = [...ofOwner, ...pending];
  const records = await deps.chain.lookUp(
    bundles.map(({ transactions }) => transactions[0]?.signature ?? ''),
  );
  if (records.every((record) => record === null)) return;
  await deps.store.transaction(async (tx) => {
    for (const [index, bundle] of bundles.entries()) {
      const record = records[index];
      if (record == null) continue;
      const status = statusOf(record);
      if (pending.includes(bundle)) await tx.bundles.settle(bundle.id, { status });
      else await tx.bundles.insertMany([{ ...bundle, status }]);
      const { feeLamports } = record;
      await tx.batches.addCost(batch.id, { feeLamports, rentPaidLamports: 0n, rentReclaimedLamports: 0n });
    }
  });
}

const statusOf = ({ error }: TransactionRecord): 'LANDED' | 'FAILED' =>
  error === null ? 'LANDED' : 'FAILED';

/** The approval as it was issued: the operator signed it first, so its name is known before the owner signs. */
function issuedApproval(batch: BatchRecord): BundleTransaction {
  invariant(batch.approvalTx !== null, 'A finalized batch has an approval.');
  const bytes = Buffer.from(batch.approvalTx, 'base64');
  const [signature] = decodeTransaction(bytes).signatures;
  invariant(signature !== undefined, 'An approval has a payer.');
  return { signature: base58Encode(signature), bytes };
}

const ownerBundle = (deps: EngineDeps, batch: BatchRecord, transaction: BundleTransaction): BundleRecord => ({
  id: deps.ids.uuid(),
  batchId: batch.id,
  phase: 'OWNER_APPROVAL',
  ordinal: 0,
  firstTransaction: 0,
  bundleId: bundleId([transaction.signature]),
  transactions: [transaction],
  lastValidBlockHeight: batch.approvalLastValidBlockHeight ?? 0n,
  status: 'PENDING',
  errorMessage: null,
  failedTransaction: null,
});
