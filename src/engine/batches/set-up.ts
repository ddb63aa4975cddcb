/** Brings a planned batch onto the chain and ends with its approval; resumable after every bundle. */
import { memo } from '../../chain/memo.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import type { BundleExecution, InitBatchResult, InitResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord, BundleRecord, RequestRecord } from '../../store/records.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import type { Lease } from '../lease.js';
import { inTurns } from '../pause.js';
import { type BatchContext, flywheelOf, messages } from './batch-context.js';
import { initBatchView } from './batch-view.js';
import { nextBatchIndex } from './on-chain.js';
import { issueVote } from './owner-vote.js';
import type { PhaseResult } from './phase.js';
import { createInstructions, setupTransactions, shared } from './plan-batch.js';
import { runPhase } from './run-phase.js';

/** Times that an index taken by somebody else is replaced by the next one. */
const MAX_INDEX_TRIES = 20;
/** The one that opens batch and proposal. */
const OPENING_TRANSACTIONS = 1;

export interface SetUpInput {
  readonly deps: EngineDeps;
  readonly context: BatchContext;
  readonly batch: BatchRecord;
  readonly request: RequestRecord;
  /** On the request. */
  readonly lease: Lease;
}

/**
 * Creates the batch on chain, adds every pipeline, opens it to votes and issues the approval.
 * @returns the answer of init, as it is stored.
 * @throws `ERR_BATCH_INIT_FAILED` when a bundle is refused; the batch then tells why and can be carried on.
 */
export async function setUp(input: SetUpInput): Promise<InitBatchResult> {
  const { deps } = input;
  const stored = await deps.store.read((tx) => tx.bundles.ofBatch(input.batch.id, ['SETUP']));
  // Opening the batch is a phase of its own: which index it gets has to be known before anything else is written.
  const [opening, filling] = [
    stored.filter(({ first }) => first === 0),
    stored.filter(({ first }) => first > 0),
  ];
  const { batch, phase: created } = await create(input, opening);
  const rest = await fillingTransactions(input, batch.batchIndex);
  const filled = await runPhase(deps, {
    ...common(input, filling),
    transactions: rest,
    offset: 1,
    before: created.settle,
  });
  const whole = { batch, phases: [created, filled], total: OPENING_TRANSACTIONS + rest.length };
  if (filled.failure !== null) throw await stop(input, whole, filled.failure.message);
  return finalize(input, whole);
}

/** The transactions after the first, in their order. */
async function fillingTransactions(
  { deps, context, batch }: SetUpInput,
  batchIndex: bigint,
): Promise<readonly (readonly Instruction[])[]> {
  const { flywheel, token } = context;
  const [, ...alone] = await inTurns(setupTransactions({ flywheel, batchIndex }, messages(batch)));
  // Where nothing is waited for, nothing is gained.
  return deps.chain.pollMs === null ? alone : inTurns(shared(flywheelOf(token, flywheel), alone));
}

const common = ({ context, batch, lease }: SetUpInput, stored: readonly BundleRecord[]) => ({
  batchId: batch.id,
  tokenId: batch.tokenId,
  phase: 'SETUP' as const,
  signer: context.operator,
  stored,
  lease,
});

/** Opens batch and proposal under the next free index of the multisig. */
async function create(
  input: SetUpInput,
  stored: readonly BundleRecord[],
): Promise<{ batch: BatchRecord; phase: PhaseResult }> {
  const { deps, context } = input;
  let batch = input.batch;
  let known = stored;
  for (let tries = 0; tries < MAX_INDEX_TRIES; tries += 1) {
    const { batchIndex } = batch;
    const phase = await runPhase(deps, {
      ...common(input, known),
      transactions: [createTransaction(input, batchIndex)],
      before: (tx) => tx.batches.setBatchIndex(batch.id, batchIndex, isoTime(tx.nowMs)),
    });
    if (phase.failure === null) return { batch, phase };
    await input.lease.write(phase.settle);
    const next = await nextBatchIndex(deps.chain, context.flywheel);
    if (next <= batchIndex) {
      const { length } = await fillingTransactions(input, batchIndex);
      const total = OPENING_TRANSACTIONS + length;
      throw await stop(input, { batch, phases: [phase], total }, phase.failure.message);
    }
    // Another batch was faster; nothing of this one has landed, so it takes the next index.
    batch = { ...batch, batchIndex: next };
    known = [];
  }
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    'Other batches of the multisig keep taking the next index; try again.',
  );
}

/**
 * Two batches that take the same index at the same time would otherwise be the same bytes, so the same signature, and each
 * would take the other's landing for its own: the memo names the batch and keeps them apart.
 */
const createTransaction = ({ context, batch }: SetUpInput, batchIndex: bigint): readonly Instruction[] => [
  memo(`batch ${batch.id}`, []),
  ...createInstructions({ flywheel: context.flywheel, batchIndex }),
];

/** What came of it so far. */
interface Progress {
  readonly batch: BatchRecord;
  readonly phases: readonly PhaseResult[];
  /** Transactions that set it up. */
  readonly total: number;
}

function initResult({ batch, phases, total }: Progress, failedTxMsg?: string): InitResult {
  const landed = phases.flatMap((phase): readonly BundleExecution[] => phase.landed);
  const totalSuccessful = phases.reduce((sum, { landedCount }) => sum + landedCount, 0);
  return {
    total,
    totalSuccessful,
    totalFailed: total - totalSuccessful,
    successfulExecutions: landed,
    ...(failedTxMsg === undefined ? {} : { failedTxMsg }),
    batchIndex: Number(batch.batchIndex),
  };
}

async function stop({ lease }: SetUpInput, progress: Progress, message: string): Promise<FlywheelError> {
  const { batch, phases } = progress;
  const result = initResult(progress, message);
  await lease.write(async (tx) => {
    for (const phase of phases) await phase.settle(tx);
    await tx.batches.setInitResult(batch.id, result, isoTime(tx.nowMs));
  });
  return new FlywheelError('ERR_BATCH_INIT_FAILED', `The set-up of batch ${batch.id} stopped: ${message}`, {
    hint: 'Mend the reason and run init again with the same idempotency key; it carries on where it stopped.',
  });
}

async function finalize(
  { deps, context, request, lease }: SetUpInput,
  progress: Progress,
): Promise<InitBatchResult> {
  const { batch, phases } = progress;
  const vote = await issueVote(deps, context, batch, 'approve');
  const result = initResult(progress);
  const dateUpdated = isoTime(deps.store.latestMs());
  const finalized: BatchRecord = { ...batch, status: 'FINALIZED', initResult: result, dateUpdated };
  const value = await initBatchView(finalized, context, vote);
  const { id, setupRentLamports: rentPaidLamports } = batch;
  await lease.write(async (tx) => {
    for (const phase of phases) await phase.settle(tx);
    await tx.batches.addCost(id, { feeLamports: 0n, rentPaidLamports, rentReclaimedLamports: 0n });
    await tx.batches.addVote(vote);
    await tx.batches.transition(id, 'FINALIZED', { initResult: result }, dateUpdated);
    await tx.requests.complete(request.id, JSON.stringify(value));
  });
  return value;
}
