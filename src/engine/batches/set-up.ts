/** Sets a planned batch up on chain and issues its approval; resumable after every bundle. */
import type { Commitment } from '../../chain/chain.js';
import { memo } from '../../chain/small-programs.js';
import { instructionName } from '../../chain/squads/instructions.js';
import type { Instruction } from '../../chain/transaction/message.js';
import type { InitBatchResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord, RequestRecord } from '../../store/records.js';
import { isoTime } from '../../values/time.js';
import { type BatchWork, executionsOf, type Failure, type Goal, type Next } from './advance.js';
import { type BatchContext, flywheelOf, messages } from './batch-context.js';
import { initBatchView } from './get-batch.js';
import {
  type BatchState,
  differenceFromPlan,
  readBatchOnChain,
  readBatchState,
  requireOpenToVotes,
  requireOperator,
} from './on-chain.js';
import { issueVote } from './owner-vote.js';
import { createInstructions, setupTransactions, shared } from './plan-batch.js';

const MAX_INDEX_TRIES = 20;

/**
 * @returns the answer of init, as stored.
 * @throws `ERR_BATCH_INIT_FAILED` when a bundle is rejected; the batch stores the reason and can be resumed.
 */
export async function setUp(work: BatchWork, request: RequestRecord): Promise<InitBatchResult> {
  const goal = new SetUp(work);
  const end = await work.run(goal);
  const failure = end?.failure ?? (await goal.difference());
  if (failure !== null) throw await stop(work, goal, failure);
  return finalize(work, goal, request);
}

function fillingOf(
  { deps, context, batch }: BatchWork,
  batchIndex: bigint,
): readonly (readonly Instruction[])[] {
  const { project } = context;
  const [, ...alone] = setupTransactions({ flywheel: project, batchIndex }, messages(batch));
  return deps.chain.pollMs === null ? alone : [...shared(flywheelOf(project), alone)];
}

class SetUp implements Goal {
  #filling: readonly (readonly Instruction[])[];
  #batchIndex: bigint;
  #tries = 0;

  constructor(private readonly work: BatchWork) {
    this.#filling = fillingOf(work, work.batch.batchIndex);
    this.#batchIndex = work.batch.batchIndex;
  }

  get batch(): BatchRecord {
    return { ...this.work.batch, batchIndex: this.#batchIndex };
  }

  get total(): number {
    return 1 + this.#filling.length;
  }

  readonly read = (commitment?: Commitment): Promise<BatchState> => {
    const { deps, context } = this.work;
    return readBatchState(deps.chain, context.project, this.batch, commitment);
  };

  /** The accounts at the index belong to this batch only if its own opening transaction landed. */
  readonly isReached = ({ batch, proposal }: BatchState): boolean =>
    this.work.hasLanded('SETUP', 0) &&
    batch?.size === this.work.batch.pipelines.length &&
    proposal !== null &&
    proposal.status.kind !== 'Draft';

  readonly next = async (state: BatchState): Promise<Next> => {
    if (!this.work.hasLanded('SETUP', 0)) return this.#opening(state);
    const { batch, proposal, multisig } = state;
    if (batch === null || proposal === null) {
      const isComing =
        multisig.transactionIndex < this.#batchIndex || this.work.openOf('SETUP', 0) !== undefined;
      return isComing ? this.#steps(0, 1) : { stop: 'The accounts of the batch were closed on chain.' };
    }
    requireOpenToVotes(state, this.batch);
    const { kind } = proposal.status;
    if (kind !== 'Draft')
      return { stop: `The proposal is ${kind} on chain with ${batch.size} transactions.` };
    const first = this.#position(batch.size);
    if (first === undefined)
      return { stop: `The batch has ${batch.size} transactions on chain that differ from its plan.` };
    return this.#steps(first, this.total);
  };

  async difference(): Promise<Failure | null> {
    if (this.work.countLanded('SETUP') === this.total) return null;
    const { deps, context } = this.work;
    const found = await readBatchOnChain(deps.chain, context.project, this.batch);
    const difference = differenceFromPlan(found, this.batch, context.project);
    return difference === null
      ? null
      : { message: `The batch on chain differs from its plan: ${difference}.` };
  }

  async #opening({ multisig }: BatchState): Promise<Next> {
    requireOperator(multisig, this.work.context.project);
    const next = multisig.transactionIndex + 1n;
    if (this.work.openOf('SETUP', 0) === undefined && this.#batchIndex !== next) {
      this.#tries += 1;
      if (this.#tries >= MAX_INDEX_TRIES) {
        throw new FlywheelError(
          'ERR_UNAVAILABLE',
          'Other batches of the multisig keep taking the next index. Try again.',
        );
      }
      this.#batchIndex = next;
      this.#filling = fillingOf(this.work, this.#batchIndex);
      this.work.forgetFailure();
    }
    return this.#steps(0, 1);
  }

  #steps(first: number, end: number): Next {
    const { batch } = this;
    return {
      ...{ phase: 'SETUP', first, end },
      instructions: (index) =>
        index === 0 ? openingInstructions(this.work.context, batch) : (this.#filling[index - 1] ?? []),
      ...(first === 0 && {
        before: (tx) =>
          tx.batches.change(batch.id, { batchIndex: batch.batchIndex, dateUpdated: isoTime(tx.nowMs) }),
      }),
    };
  }

  #position(size: number): number | undefined {
    let held = 0;
    for (const [at, instructions] of this.#filling.entries()) {
      if (held === size) return at + 1;
      held += instructions.filter(({ data }) => instructionName(data) === 'batchAddTransaction').length;
    }
    return undefined;
  }
}

/**
 * The memo makes the opening unique. Two batches with the same index would have the same bytes and the same signature, and each
 * would take the other's landing for its own.
 */
const openingInstructions = ({ project }: BatchContext, batch: BatchRecord): readonly Instruction[] => [
  memo(`batch ${batch.id}`, []),
  ...createInstructions({ flywheel: project, batchIndex: batch.batchIndex }),
];

function initResult(work: BatchWork, { batch, total }: SetUp, failedTxMsg?: string) {
  const totalSuccessful = work.countLanded('SETUP');
  return {
    ...{ total, totalSuccessful, totalFailed: total - totalSuccessful },
    successfulExecutions: executionsOf(work.landedOf('SETUP')),
    ...(failedTxMsg === undefined ? {} : { failedTxMsg }),
    batchIndex: Number(batch.batchIndex),
  };
}

async function stop(
  work: BatchWork,
  goal: SetUp,
  { message, failedTransaction }: Failure,
): Promise<FlywheelError> {
  const { id } = work.batch;
  const result = initResult(work, goal, message);
  await work.write((tx) => tx.batches.change(id, { initResult: result, dateUpdated: isoTime(tx.nowMs) }));
  return new FlywheelError('ERR_BATCH_INIT_FAILED', `The set-up of batch ${id} stopped: ${message}`, {
    hint:
      failedTransaction === undefined
        ? `Cancel the batch: \`flywheel batch cancel ${id}\``
        : 'Fix the cause, then run init again with the same idempotency key to resume.',
  });
}

async function finalize(work: BatchWork, goal: SetUp, request: RequestRecord): Promise<InitBatchResult> {
  const { deps, context } = work;
  const { batch } = goal;
  const vote = await issueVote(deps, context, batch, 'approve');
  const result = initResult(work, goal);
  const dateUpdated = isoTime(deps.store.latestMs());
  const finalized: BatchRecord = { ...batch, status: 'FINALIZED', initResult: result, dateUpdated };
  const value = initBatchView(finalized, context.project, vote);
  await work.write(async (tx) => {
    await tx.batches.addVote(vote);
    await tx.batches.transition(batch.id, 'FINALIZED', { initResult: result }, dateUpdated);
    await tx.requests.complete(request.id, JSON.stringify(value));
  });
  return value;
}
