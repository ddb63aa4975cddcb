/** Execute: approvals, then the transactions in order, then the verdict; idempotent by batch (contract, section 1.2). */
import type { Commitment } from '../../chain/chain.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import type { Reply } from '../../contract/call.js';
import { type ExecuteBatchResult, executeBatchRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, BundlePhase, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import type { Uuid } from '../../values/uuid.js';
import type { EngineDeps } from '../deps.js';
import { type Caller, isWorkedOn, type Lease, underLease } from '../lease.js';
import { keyedOperation } from '../operation.js';
import { inTurns } from '../pause.js';
import { noRepeat, openRequest, type RequestIdentity } from '../requests/requests.js';
import { Advance, type End, type Failure, type Goal, type Next } from './advance.js';
import { type ApprovalInput, approvalFailed, approvalSteps, readPlanned } from './approve-batch.js';
import { batchHolding, claimBatch, currentRecord, isFinal, isOver } from './batch-claim.js';
import { type BatchContext, contextOf, contextOfBatch, messages, ownerOf } from './batch-context.js';
import { closeAccounts, needsClosing } from './close-accounts.js';
import { foreignOf, resultOf } from './execute-result.js';
import { withVaultRent } from './funds.js';
import { findBatch } from './get-batch.js';
import { countForeign, holdFromNow, refuseOverCaps, releaseHolds } from './holds.js';
import { type BatchState, countExecuted, isEnded, kindOf, readWhole } from './on-chain.js';
import { executeTransactions } from './plan-batch.js';
import { waitOutTimeLock } from './time-lock.js';

/** Executes an approved batch, or returns what became of it. */
export const executeBatch = keyedOperation('executeBatch', {
  saysUnused: false,
  parse: (input, { principal }) => ({
    ...parseInput(executeBatchRequestSchema, input),
    owner: ownerOf(principal),
  }),
  proofTypes: () => [],
  perform: async ({ deps, principal, input: { batchId, signedTx }, call, identity, earlier }) => {
    const batch = await findBatch(deps, principal, batchId);
    // An engine that died after the verdict has left the accounts open: then the answer waits until they are closed.
    if (earlier?.reply != null && isFinal(batch) && !needsClosing(batch)) return storedAnswer(batch);
    if (call.repeatOnly === true && !isFinal(batch)) throw noRepeat();
    return new Execution(deps, contextOf(deps, principal), batch, identity).run(signedTx, call);
  },
});

/**
 * Carries on an execution that nobody works on, or closes what it left; both approvals have to stand on chain.
 * @returns whether there was one
 */
export async function carryOnExecution(deps: EngineDeps, batchId: string, caller: Caller): Promise<boolean> {
  const found = await deps.store.read(async (tx) => {
    const batch = await currentRecord(tx, batchId);
    const context = isWorkedOn(tx, batch) ? undefined : await contextOfBatch(deps, tx, batch);
    return context && { batch, context };
  });
  if (found === undefined) return false;
  await deps.gaps.require(found.batch.tokenId);
  await new Execution(deps, found.context, found.batch, null).run(undefined, caller);
  return true;
}

class Execution {
  readonly #deps: EngineDeps;
  readonly #context: BatchContext;
  /** Of the request that asks for it, if one does. */
  readonly #identity: RequestIdentity | null;
  readonly #batch: BatchHead;
  #request: RequestRecord | null = null;

  constructor(deps: EngineDeps, context: BatchContext, batch: BatchHead, identity: RequestIdentity | null) {
    this.#deps = deps;
    this.#context = context;
    this.#batch = batch;
    this.#identity = identity;
  }

  async run(signedTx: string | undefined, caller: Caller): Promise<Reply<ExecuteBatchResult>> {
    if (isFinal(this.#batch) && !needsClosing(this.#batch)) return storedAnswer(this.#batch);
    const claimed = await this.#claim();
    // It may have become final only since it was read.
    if (claimed === 'busy') return this.#answer(this.#batch.id, true);
    // Whatever has landed is stored; the batch itself makes the next execute carry on, whichever key it comes with.
    const holding = batchHolding(claimed, this.#request);
    await underLease(this.#deps, holding, caller, async (lease) => {
      const ended = isOver(claimed) ? claimed : await this.#advance(claimed, signedTx, lease);
      if (needsClosing(ended)) await this.#close(ended, lease);
      await lease.giveUp();
    });
    return this.#answer(claimed.id, isFinal(claimed));
  }

  /** Takes the batch; `'busy'` when it is over and somebody else is closing its accounts. */
  async #claim(): Promise<BatchRecord | 'busy'> {
    return this.#deps.store.transaction(async (tx) => {
      const batch = await currentRecord(tx, this.#batch.id);
      if (batch.status === 'AVAILABLE_TO_QUEUE') {
        throw new FlywheelError('ERR_BATCH_NOT_FINALIZED', `Batch ${batch.id} is not finalized yet.`);
      }
      if (isOver(batch) && isWorkedOn(tx, batch)) return 'busy';
      await this.#requireAsked(tx, batch);
      const claimed = await claimBatch(this.#deps, tx, batch.id);
      if (this.#identity?.value !== undefined && !isFinal(batch)) await this.#open(tx, this.#identity);
      return claimed;
    }, this.#batch);
  }

  /** Without anybody who asks, only what was asked for before is carried on, and only as long as nobody has begun to end it. */
  async #requireAsked(tx: StoreTransaction, batch: BatchRecord): Promise<void> {
    if (this.#identity !== null || isFinal(batch)) return;
    if (await tx.unfinished.isExecution(batch.id)) return;
    throw new FlywheelError('ERR_BATCH_IN_PROGRESS', `Batch ${batch.id} is another's by now.`);
  }

  async #open(tx: StoreTransaction, identity: RequestIdentity): Promise<void> {
    const opening = await openRequest(this.#deps, tx, identity);
    if (opening.kind !== 'replayed') this.#request = opening.request;
  }

  /** Executes a batch; of one that has failed nothing is sent, and what members have executed since is found out. */
  async #advance(batch: BatchRecord, signedTx: string | undefined, lease: Lease): Promise<BatchRecord> {
    const deps = this.#deps;
    const { operator, flywheel } = this.#context;
    // A vote to end it may have been sent, and counts for what it has cost.
    const phases: readonly BundlePhase[] = ['OWNER_APPROVAL', 'OPERATOR_APPROVAL', 'EXECUTE', 'CANCEL'];
    const advance = await Advance.open(deps, { batch, operator, lease, phases });
    const known = batch.executeResult;
    if (known !== null) {
      await advance.settleAll();
      const state = await readWhole(deps.chain, flywheel, batch, 'finalized');
      const position = await countExecuted(deps.chain, flywheel, batch, state);
      return position === known.totalSuccessful
        ? batch
        : this.#conclude(batch, lease, advance, { state, failure: null });
    }
    const goal = new Executed({ deps, context: this.#context, batch, advance, lease, signedTx });
    const end = await advance.run(goal);
    invariant(end !== null, 'An execution waits for nobody.');
    if (end.failure !== null && kindOf(end.state) === 'Active') throw approvalFailed(batch, end.failure);
    return this.#conclude(batch, lease, advance, end);
  }

  /** Writes the verdict. What did not land and can still run on chain goes on counting against the caps. */
  async #conclude(
    batch: BatchRecord,
    lease: Lease,
    advance: Advance,
    { state, failure }: End<BatchState>,
  ): Promise<BatchRecord> {
    const position = await countExecuted(this.#deps.chain, this.#context.flywheel, batch, state);
    const landed = advance.executions('EXECUTE');
    const executeResult = resultOf(batch, position, landed, failureOf(batch, position, state, failure));
    const status = executeResult.totalFailed === 0 ? 'EXECUTED' : 'FAILED';
    await lease.write(async (tx) => {
      await advance.write(tx);
      await countForeign(tx, batch, foreignOf(batch, position, advance));
      await tx.batches.transition(batch.id, status, { executeResult }, isoTime(tx.nowMs));
      if (isEnded(state)) await releaseHolds(tx, batch);
      if (this.#request !== null) {
        const value: ExecuteBatchResult = { batchId: batch.id as Uuid, result: executeResult };
        await tx.requests.complete(this.#request.id, JSON.stringify(value));
        this.#request = null;
      }
    });
    return { ...batch, status, executeResult };
  }

  async #close(batch: BatchRecord, lease: Lease): Promise<void> {
    try {
      const reason = await closeAccounts(this.#deps, this.#context, batch, lease);
      if (reason === null) return;
      throw new FlywheelError('ERR_UNAVAILABLE', `The accounts of batch ${batch.id} stay open. ${reason}`);
    } catch (error) {
      // Who asked has the verdict, and the rent comes back later; who carries the batch on unasked has to try again.
      if (this.#identity === null) throw error;
    }
  }

  async #answer(batchId: string, replayed: boolean): Promise<Reply<ExecuteBatchResult>> {
    const batch = await this.#deps.store.read((tx) => tx.batches.head(batchId));
    invariant(batch !== undefined, 'Batches are never removed.');
    return storedAnswer(batch, replayed);
  }
}

function storedAnswer(batch: BatchHead, replayed = true): Reply<ExecuteBatchResult> {
  invariant(batch.executeResult !== null, 'A final batch has its result.');
  return {
    value: { batchId: batch.id as Uuid, result: batch.executeResult },
    meta: { replayed, cost: batch.cost },
  };
}

/** Approved by owner and operator, and then executed whole. */
class Executed implements Goal<BatchState> {
  readonly #input: ApprovalInput;
  #transactions: readonly (readonly Instruction[])[] | undefined;

  constructor(input: ApprovalInput) {
    this.#input = input;
  }

  readonly read = (commitment?: Commitment): Promise<BatchState> => {
    const { deps, context, batch } = this.#input;
    return readWhole(deps.chain, context.flywheel, batch, commitment);
  };

  readonly isReached = isEnded;

  readonly next = async (state: BatchState): Promise<Next> => {
    if (kindOf(state) !== 'Approved') return approvalSteps(this.#input);
    this.#transactions ??= await this.#begin(state);
    const transactions = this.#transactions;
    return {
      ...{ phase: 'EXECUTE', first: state.batch?.executedTransactionIndex ?? 0, end: transactions.length },
      instructions: (index) => transactions[index] ?? [],
    };
  };

  /** It can run now, no matter who has approved it: so it counts from now on, even where it is refused here for being too much. */
  async #begin(state: BatchState): Promise<readonly (readonly Instruction[])[]> {
    const { deps, context, batch, lease, advance } = this.#input;
    await readPlanned(this.#input);
    const first = state.batch?.executedTransactionIndex ?? 0;
    const hasBegun = advance.countLanded('EXECUTE') > 0 || advance.openBytes('EXECUTE') !== undefined;
    // While a batch waits, recipients get their accounts from others.
    const left = hasBegun ? [] : await withVaultRent(deps.chain, context, batch.pipelines.slice(first));
    await lease.write(async (tx) => {
      await holdFromNow(tx, batch);
      for (const [at, { vaultRentLamports }] of left.entries())
        if (vaultRentLamports !== batch.pipelines[first + at]?.vaultRentLamports)
          await tx.pipelines.setVaultRent(batch.id, first + at, vaultRentLamports);
    });
    await deps.store.read((tx) => refuseOverCaps(tx, context, batch));
    await waitOutTimeLock(deps, batch.id, state, lease);
    const place = { flywheel: context.flywheel, batchIndex: batch.batchIndex };
    return inTurns(executeTransactions(place, messages(batch)));
  }
}

const CLOSED = 'Its accounts were closed on chain.';
const REST_NOT_TRIED = 'Members have executed what had failed; the rest was not tried.';

function failureOf(
  batch: BatchRecord,
  position: number,
  state: BatchState,
  failure: Failure | null,
): Failure | null {
  if (failure !== null || position === batch.pipelines.length) return failure;
  if (!isEnded(state)) return { message: REST_NOT_TRIED };
  const message =
    state.batch === null ? CLOSED : `The proposal was ${kindOf(state)?.toLowerCase()} on chain.`;
  return { failedTransaction: position, firstTransaction: position, message };
}
