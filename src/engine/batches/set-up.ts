/** Brings a planned batch onto the chain and ends with its approval; resumable after every bundle. */
import type { Chain } from '../../chain/chain.js';
import { memo } from '../../chain/memo.js';
import { SQUADS_PROGRAM } from '../../chain/programs.js';
import { proposalApprove } from '../../chain/squads/instructions/proposal.js';
import { decodeAccount, MULTISIG } from '../../chain/squads/layouts/accounts.js';
import { compileV0Message, partiallySign } from '../../chain/transaction/compile.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import type { BundleExecution, InitResult } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, BundleRecord, FlywheelRecord, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import { isoTime } from '../../values/time.js';
import { type EngineDeps, LEASE_MS } from '../deps.js';
import { initBatchView } from './batch-view.js';
import { setupRentLamports } from './funds.js';
import { intoBundles, type PhaseResult } from './phase.js';
import { createInstructions, setupTransactions } from './plan-batch.js';
import { runPhase } from './run-phase.js';
import { type BatchScene, messages } from './scene.js';

/** Times that an index taken by somebody else is replaced by the next one. */
const MAX_INDEX_TRIES = 20;
/** One to create, one to end the draft. */
const TRANSACTIONS_BESIDE_PIPELINES = 2;

export interface SetUpInput {
  readonly deps: EngineDeps;
  readonly scene: BatchScene;
  readonly batch: BatchRecord;
  readonly request: RequestRecord;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Creates the batch on chain, adds every pipeline, opens it to votes and issues the approval.
 * @returns the finalized batch.
 * @throws `ERR_BATCH_INIT_FAILED` when a bundle is refused; the batch then tells why and can be carried on.
 */
export async function setUp(input: SetUpInput): Promise<BatchRecord> {
  const { deps, scene } = input;
  const stored = (await deps.store.read((tx) => tx.bundles.ofBatch(input.batch.id))).filter(
    ({ phase }) => phase === 'SETUP',
  );
  const { batch, phase: created } = await create(input, stored);
  const place = { flywheel: scene.flywheel, batchIndex: batch.batchIndex };
  const [, ...rest] = setupTransactions(place, messages(batch));
  const filled = await runPhase(deps, {
    ...common(input, stored),
    drafts: intoBundles(rest),
    firstOrdinal: 1,
    firstTransaction: 1,
    before: created.settle,
  });
  if (filled.failure !== null) throw await stop(input, batch, [created, filled], filled.failure.message);
  return finalize(input, batch, [created, filled]);
}

const common = ({ deps, scene, batch, request, signal }: SetUpInput, stored: readonly BundleRecord[]) => ({
  batchId: batch.id,
  phase: 'SETUP' as const,
  signer: scene.operator,
  stored,
  signal,
  renewLease: (tx: StoreTransaction) =>
    tx.requests.claim(request.id, deps.instances.id, deps.clock.nowMs() + LEASE_MS),
});

/** Opens batch and proposal under the next free index of the multisig. */
async function create(
  input: SetUpInput,
  stored: readonly BundleRecord[],
): Promise<{ batch: BatchRecord; phase: PhaseResult }> {
  const { deps, scene } = input;
  let batch = input.batch;
  let known = stored;
  for (let tries = 0; tries < MAX_INDEX_TRIES; tries += 1) {
    const { batchIndex } = batch;
    const phase = await runPhase(deps, {
      ...common(input, known),
      drafts: [[createTransaction(input, batchIndex)]],
      before: (tx) => tx.batches.setBatchIndex(batch.id, batchIndex, isoTime(deps.clock.nowMs())),
    });
    if (phase.failure === null) return { batch, phase };
    await deps.store.transaction(phase.settle);
    const next = await nextBatchIndex(deps.chain, scene.flywheel);
    if (next <= batchIndex) {
      throw await stop(input, batch, [phase], phase.failure.message);
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
const createTransaction = ({ scene, batch }: SetUpInput, batchIndex: bigint): readonly Instruction[] => [
  memo(`batch ${batch.id}`, []),
  ...createInstructions({ flywheel: scene.flywheel, batchIndex }),
];

/** The index that the next batch of the multisig gets, if nobody else takes it first. */
export async function nextBatchIndex(chain: Chain, flywheel: FlywheelRecord): Promise<bigint> {
  const [account] = await chain.getAccounts([flywheel.multisig]);
  const multisig = account?.owner === SQUADS_PROGRAM ? decodeAccount(MULTISIG, account.data) : undefined;
  if (multisig === undefined) {
    throw new FlywheelError('ERR_FLYWHEEL_NOT_FOUND', `There is no multisig at ${flywheel.multisig}.`);
  }
  return multisig.transactionIndex + 1n;
}

function initResult(batch: BatchRecord, phases: readonly PhaseResult[], failedTxMsg?: string): InitResult {
  const total = batch.pipelines.length + TRANSACTIONS_BESIDE_PIPELINES;
  const totalSuccessful = phases.reduce((sum, { landedTransactions }) => sum + landedTransactions, 0);
  return {
    total,
    totalSuccessful,
    totalFailed: total - totalSuccessful,
    successfulExecutions: phases.flatMap(({ landed }): readonly BundleExecution[] => landed),
    ...(failedTxMsg === undefined ? {} : { failedTxMsg }),
    batchIndex: Number(batch.batchIndex),
  };
}

async function stop(
  { deps }: SetUpInput,
  batch: BatchRecord,
  phases: readonly PhaseResult[],
  message: string,
): Promise<FlywheelError> {
  await deps.store.transaction(async (tx) => {
    for (const phase of phases) await phase.settle(tx);
    await tx.batches.setInitResult(batch.id, initResult(batch, phases, message), isoTime(deps.clock.nowMs()));
  });
  return new FlywheelError('ERR_BATCH_INIT_FAILED', `The set-up of batch ${batch.id} stopped: ${message}`, {
    hint: 'Mend the reason and run init again with the same idempotency key; it carries on where it stopped.',
  });
}

async function finalize(
  { deps, scene, request }: SetUpInput,
  batch: BatchRecord,
  phases: readonly PhaseResult[],
): Promise<BatchRecord> {
  const recent = await deps.chain.latestBlockhash();
  const approval = issueApproval(scene, batch.batchIndex, recent.blockhash);
  const rentPaidLamports = setupRentLamports(batch.pipelines);
  const finalized: BatchRecord = {
    ...batch,
    status: 'FINALIZED',
    initResult: initResult(batch, phases),
    approvalTx: Buffer.from(approval).toString('base64'),
    approvalLastValidBlockHeight: recent.lastValidBlockHeight,
    dateUpdated: isoTime(deps.clock.nowMs()),
  };
  const { id, approvalTx, dateUpdated } = finalized;
  const result = finalized.initResult;
  invariant(result !== null && approvalTx !== null, 'Set just above.');
  const reply = JSON.stringify(initBatchView(finalized, scene));
  await deps.store.transaction(async (tx) => {
    for (const phase of phases) await phase.settle(tx);
    await tx.batches.addCost(id, { feeLamports: 0n, rentPaidLamports, rentReclaimedLamports: 0n });
    await tx.batches.setApproval(id, approvalTx, recent.lastValidBlockHeight, dateUpdated);
    await tx.batches.transition(id, 'FINALIZED', { initResult: result }, dateUpdated);
    await tx.requests.complete(request.id, reply);
  });
  return finalized;
}

/** The owner's approval: the operator pays and has signed; the owner's signature is missing. */
function issueApproval(scene: BatchScene, batchIndex: bigint, blockhash: string): Uint8Array {
  const { multisig, owner } = scene.flywheel;
  const instructions = [proposalApprove({ multisig, batchIndex, member: owner as Address })];
  const message = compileV0Message({ payer: scene.operator.address, instructions, blockhash });
  return partiallySign(message, [scene.operator]);
}
