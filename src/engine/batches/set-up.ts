/** Brings a planned batch onto the chain and ends with its approval; resumable after every bundle. */
import type { Commitment } from '../../chain/chain.js';
import { memo } from '../../chain/small-programs.js';
import { instructionName } from '../../chain/squads/instructions.js';
import type { Instruction } from '../../chain/transaction/message.js';
import type { InitBatchResult, InitResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord, RequestRecord } from '../../store/records.js';
import { isoTime } from '../../values/time.js';
import { holderOf } from '../lease.js';
import { inTurns } from '../pause.js';
import { Advance, executionsOf, type Failure, type Goal, type HeldBatch, type Next } from './advance.js';
import { type BatchContext, flywheelOf, messages } from './batch-context.js';
import { initBatchView } from './get-batch.js';
import {
  type BatchState,
  differenceFromPlan,
  readBatchOnChain,
  readBatchState,
  requireOperator,
} from './on-chain.js';
import { issueVote } from './owner-vote.js';
import { createInstructions, setupTransactions, shared } from './plan-batch.js';

/** Times that an index taken by somebody else is replaced by the next one. */
const MAX_INDEX_TRIES = 20;

interface SetUpInput extends HeldBatch {
  readonly request: RequestRecord;
}

/**
 * Creates the batch on chain, adds every pipeline, opens it to votes and issues the approval.
 * @returns the answer of init, as it is stored.
 * @throws `ERR_BATCH_INIT_FAILED` when a bundle is refused; the batch then tells why and can be carried on.
 */
export async function setUp(input: SetUpInput): Promise<InitBatchResult> {
  const { advance } = await Advance.open(input, ['SETUP']);
  const goal = new SetUp(input, advance, await fillingOf(input, input.batch.batchIndex));
  const end = await advance.run(goal);
  const failure = end?.failure ?? (await goal.difference());
  if (failure !== null) throw await stop(input, goal, advance, failure);
  return finalize(input, goal, advance);
}

/** Instructions of the transactions after the one that opens the batch. */
async function fillingOf(
  { deps, context, batch }: SetUpInput,
  batchIndex: bigint,
): Promise<readonly (readonly Instruction[])[]> {
  const { flywheel, token } = context;
  const [, ...alone] = await inTurns(setupTransactions({ flywheel, batchIndex }, messages(batch)));
  // Where nothing is waited for, nothing is gained.
  return deps.chain.pollMs === null ? alone : inTurns(shared(flywheelOf(token, flywheel), alone));
}

const isAdd = ({ data }: Instruction): boolean => instructionName(data) === 'batchAddTransaction';

class SetUp implements Goal<BatchState> {
  readonly #input: SetUpInput;
  readonly #advance: Advance;
  #filling: readonly (readonly Instruction[])[];
  #batchIndex: bigint;
  #tries = 0;

  constructor(input: SetUpInput, advance: Advance, filling: readonly (readonly Instruction[])[]) {
    this.#input = input;
    this.#advance = advance;
    this.#filling = filling;
    this.#batchIndex = input.batch.batchIndex;
  }

  /** The batch as it is set up. */
  get batch(): BatchRecord {
    return { ...this.#input.batch, batchIndex: this.#batchIndex };
  }

  /** Transactions that set it up. */
  get total(): number {
    return 1 + this.#filling.length;
  }

  readonly read = (commitment?: Commitment): Promise<BatchState> => {
    const { deps, context } = this.#input;
    return readBatchState(deps.chain, context.flywheel, this.batch, commitment);
  };

  /** The accounts at its index are its own when the very transaction that opens it has landed. */
  readonly isReached = ({ batch, proposal }: BatchState): boolean =>
    this.#advance.hasLanded('SETUP', 0) &&
    batch?.size === this.#input.batch.pipelines.length &&
    proposal !== null &&
    proposal.status.kind !== 'Draft';

  readonly next = async (state: BatchState): Promise<Next> => {
    requireOperator(state.multisig, this.#input.context.flywheel);
    if (!this.#advance.hasLanded('SETUP', 0)) return this.#opening(state);
    const { batch, proposal, multisig } = state;
    if (batch === null || proposal === null) {
      // A node that is behind, or a fork that has taken it back.
      const isComing =
        multisig.transactionIndex < this.#batchIndex || this.#advance.openOf('SETUP', 0) !== undefined;
      return isComing ? this.#steps(0, 1) : { stop: 'The accounts of the batch were closed on chain.' };
    }
    const { kind } = proposal.status;
    if (kind === 'Rejected' || kind === 'Cancelled')
      throw new FlywheelError(
        'ERR_INVALID_REQUEST',
        `Batch ${this.batch.id} was ${kind.toLowerCase()} on chain before its set-up was finished.`,
        { hint: `Cancel the batch: \`flywheel batch cancel ${this.batch.id}\`` },
      );
    if (kind !== 'Draft')
      return {
        stop: `The proposal is ${kind} on chain with ${batch.size} transactions.`,
      };
    const first = this.#position(batch.size);
    if (first === undefined)
      return { stop: `The batch has ${batch.size} transactions on chain that differ from its plan.` };
    return this.#steps(first, this.total);
  };

  /** What differs from the plan where others have added to it. */
  async difference(): Promise<Failure | null> {
    if (this.#advance.countLanded('SETUP') === this.total) return null;
    const { deps, context } = this.#input;
    const found = await readBatchOnChain(deps.chain, context.flywheel, this.batch);
    const difference = differenceFromPlan(found, this.batch, context.flywheel);
    return difference === null
      ? null
      : { message: `The batch on chain differs from its plan: ${difference}.` };
  }

  /** Under the next free index of the multisig, while nothing of it has landed. */
  async #opening({ multisig }: BatchState): Promise<Next> {
    if (this.#advance.openOf('SETUP', 0) === undefined && multisig.transactionIndex >= this.#batchIndex) {
      this.#tries += 1;
      if (this.#tries >= MAX_INDEX_TRIES) {
        throw new FlywheelError(
          'ERR_UNAVAILABLE',
          'Other batches of the multisig keep taking the next index. Try again.',
        );
      }
      this.#batchIndex = multisig.transactionIndex + 1n;
      this.#filling = await fillingOf(this.#input, this.#batchIndex);
      this.#advance.forgetFailure();
    }
    return this.#steps(0, 1);
  }

  #steps(first: number, end: number): Next {
    const { batch } = this;
    return {
      ...{ phase: 'SETUP', first, end },
      instructions: (index) =>
        index === 0 ? openingInstructions(this.#input.context, batch) : (this.#filling[index - 1] ?? []),
      ...(first === 0 && {
        before: (tx) =>
          tx.batches.change(batch.id, { batchIndex: batch.batchIndex, dateUpdated: isoTime(tx.nowMs) }),
      }),
    };
  }

  /** Which transaction is next when the batch holds so many; `undefined` where none begins there. */
  #position(size: number): number | undefined {
    let held = 0;
    for (const [at, instructions] of this.#filling.entries()) {
      if (held === size) return at + 1;
      held += instructions.filter(isAdd).length;
    }
    return undefined;
  }
}

/**
 * Two batches that take the same index at the same time would otherwise be the same bytes, so the same signature, and each
 * would take the other's landing for its own: the memo names the batch and keeps them apart.
 */
const openingInstructions = ({ flywheel }: BatchContext, batch: BatchRecord): readonly Instruction[] => [
  memo(`batch ${batch.id}`, []),
  ...createInstructions({ flywheel, batchIndex: batch.batchIndex }),
];

function initResult({ batch, total }: SetUp, advance: Advance, failedTxMsg?: string): InitResult {
  const totalSuccessful = advance.countLanded('SETUP');
  return {
    total,
    totalSuccessful,
    totalFailed: total - totalSuccessful,
    successfulExecutions: executionsOf(advance.landedOf('SETUP')),
    ...(failedTxMsg === undefined ? {} : { failedTxMsg }),
    batchIndex: Number(batch.batchIndex),
  };
}

async function stop(
  { lease, batch: { id } }: SetUpInput,
  goal: SetUp,
  advance: Advance,
  { message, failedTransaction }: Failure,
): Promise<FlywheelError> {
  const result = initResult(goal, advance, message);
  await lease.write(async (tx) => {
    await advance.write(tx);
    await tx.batches.change(id, { initResult: result, dateUpdated: isoTime(tx.nowMs) });
  });
  return new FlywheelError('ERR_BATCH_INIT_FAILED', `The set-up of batch ${id} stopped: ${message}`, {
    hint:
      failedTransaction === undefined
        ? `Cancel the batch: \`flywheel batch cancel ${id}\``
        : 'Fix the cause, then run init again with the same idempotency key to resume.',
  });
}

async function finalize(
  { deps, context, request, lease }: SetUpInput,
  goal: SetUp,
  advance: Advance,
): Promise<InitBatchResult> {
  const { batch } = goal;
  const vote = await issueVote(deps, context, batch, 'approve');
  const result = initResult(goal, advance);
  const dateUpdated = isoTime(deps.store.latestMs());
  const finalized: BatchRecord = { ...batch, status: 'FINALIZED', initResult: result, dateUpdated };
  const value = await initBatchView(finalized, context, vote);
  const { id } = batch;
  await lease.write(async (tx) => {
    await advance.write(tx);
    await tx.batches.addVote(vote);
    await tx.batches.transition(id, 'FINALIZED', { initResult: result }, dateUpdated);
    await tx.requests.complete(request.id, JSON.stringify(value));
    await tx.batches.release(id, holderOf(batch));
  });
  return value;
}
