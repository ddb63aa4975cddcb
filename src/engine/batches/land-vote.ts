/** Lands a vote that the owner has signed, and counts what votes cost, once each, also those that an engine did not live to count. */
import type { Chain, TransactionRecord } from '../../chain/chain.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, BundlePhase, BundleRecord } from '../../store/records.js';
import type { EngineDeps } from '../deps.js';
import type { Lease } from '../lease.js';
import { landingOf } from '../settle/landing.js';
import { settle } from '../settle/settle.js';
import type { SignedVote } from './owner-vote.js';
import { bundleId, endOf } from './phase.js';

/**
 * Brings a vote of the owner onto the chain.
 * @throws `ERR_APPROVAL_EXPIRED` when it can land no more and has not; `ERR_INSUFFICIENT_FUNDS` when its payer cannot pay;
 * `ERR_UNAVAILABLE` when the chain does not say yet what became of it.
 */
export async function landOwnerVote(
  deps: EngineDeps,
  batch: BatchRecord,
  lease: Lease,
  vote: SignedVote,
): Promise<void> {
  const { signature, bytes, payer } = vote;
  const [settled] = await settle(deps.chain, {
    units: [{ transactions: [{ signature, bytes }], lastValidBlockHeight: await lastHeight(deps, vote) }],
    // The owner may have sent it already, as may an engine before this one.
    areNew: false,
    as: 'alone',
    lease,
    renew: () => Promise.reject(expired(batch)),
  });
  invariant(settled !== undefined, 'A vote that is settled has its end.');
  if (settled.end.kind === 'landed') return countVotes(deps, batch, lease, [vote]);
  const { reason, rejection } = settled.end;
  if (rejection !== null) {
    throw new FlywheelError(
      'ERR_INSUFFICIENT_FUNDS',
      `The fee payer ${payer} of the signed transaction cannot pay for it: ${reason}.`,
    );
  }
  await countVotes(deps, batch, lease, [vote]);
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `The transaction ${signature} of the owner failed on chain: ${reason}.`,
  );
}

/** A block up to which a vote can land for sure; one with a blockhash of the owner's choice lasts no longer than the newest. */
async function lastHeight({ chain }: EngineDeps, vote: SignedVote): Promise<bigint> {
  if (vote.wasIssued || !(await chain.isBlockhashValid(vote.blockhash))) return vote.lastValidBlockHeight;
  return (await chain.latestBlockhash()).lastValidBlockHeight;
}

const expired = ({ id }: BatchRecord): FlywheelError =>
  new FlywheelError(
    'ERR_APPROVAL_EXPIRED',
    `The blockhash of the signed transaction of batch ${id} is too old, and it has not landed. Sign a fresh one: POST /v1/flywheel/batch/${id}/approval gives it, as \`flywheel batch approve ${id}\` does.`,
  );

/** Where votes are kept; those of the owner against a batch too. */
const VOTES = ['OWNER_APPROVAL', 'OPERATOR_APPROVAL'] as const satisfies readonly BundlePhase[];

/** Adds the fees of votes that have landed and are not counted yet: those handed out, these, and those that were taken back. */
export async function countVotes(
  deps: EngineDeps,
  batch: BatchRecord,
  lease: Lease,
  more: readonly SignedVote[] = [],
): Promise<void> {
  const { stored, issued } = await deps.store.read(async (tx) => ({
    stored: await tx.bundles.ofBatch(batch.id, VOTES),
    issued: await tx.batches.votes(batch.id),
  }));
  const counted = new Set(
    stored.flatMap(({ transactions }) => transactions.map(({ signature }) => signature)),
  );
  const votes = new Map(
    [...issued.map(({ transaction, ...vote }) => ({ ...vote, bytes: transaction })), ...more].map((vote) => [
      vote.signature,
      vote,
    ]),
  );
  const uncounted = [...votes.values()].filter(({ signature }) => !counted.has(signature));
  const end = endOf(stored);
  const ofOwner = uncounted.map((vote, index) => ownerBundle(deps, batch, vote, end + index));
  const pending = stored.filter(({ status }) => status === 'PENDING');
  const bundles = [...ofOwner, ...pending];
  const records = await settledRecords(
    deps.chain,
    bundles.map(({ transactions }) => transactions[0]?.signature ?? ''),
  );
  if (records.every((record) => record === null)) return;
  await lease.write(async (tx) => {
    for (const [index, bundle] of bundles.entries()) {
      const record = records[index];
      if (record == null) continue;
      const status = statusOf(record);
      if (pending.includes(bundle)) await tx.bundles.settle([bundle.id], { status });
      else await tx.bundles.insertMany([{ ...bundle, status }]);
      if (deps.chain.pollMs !== null && status === 'LANDED')
        await tx.landings.add([{ ...landingOf([record]), bundleId: bundle.id }]);
      const { feeLamports } = record;
      await tx.batches.addCost(batch.id, { feeLamports, rentPaidLamports: 0n, rentReclaimedLamports: 0n });
    }
  });
}

/** What has landed; one that failed only when no fork can take that back, since it may succeed on another. */
async function settledRecords(
  chain: Chain,
  signatures: readonly string[],
): Promise<readonly (TransactionRecord | null)[]> {
  const records = await chain.lookUp(signatures);
  const failed = records.flatMap((record) => (record?.error == null ? [] : [record]));
  const finality = await chain.finality(failed);
  return records.map((record) =>
    record?.error == null || finality[failed.indexOf(record)] === 'final' ? record : null,
  );
}

const statusOf = ({ error }: TransactionRecord): 'LANDED' | 'FAILED' =>
  error === null ? 'LANDED' : 'FAILED';

const ownerBundle = (
  deps: EngineDeps,
  batch: BatchRecord,
  {
    signature,
    bytes,
    lastValidBlockHeight,
  }: Pick<SignedVote, 'signature' | 'bytes' | 'lastValidBlockHeight'>,
  first: number,
): BundleRecord => ({
  id: deps.ids.uuid(),
  batchId: batch.id,
  phase: 'OWNER_APPROVAL',
  // Not a step of a plan: any number that no other of its phase has.
  first,
  bundleId: bundleId([signature]),
  transactions: [{ signature, bytes }],
  lastValidBlockHeight,
  status: 'PENDING',
  errorMessage: null,
  failedTransaction: null,
});
