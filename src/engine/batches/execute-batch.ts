/** Execute: approvals, then the transactions in order, then the verdict; idempotent by batch (contract, section 1.2). */
import type { Reply } from '../../contract/call.js';
import { type ExecuteBatchResult, executeBatchRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, BundleRecord, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Uuid } from '../../values/ids.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import { untilFinal, watchLandings } from '../landings/watch.js';
import { type Caller, isWorkedOn, type Lease, underLease } from '../lease.js';
import { keyedOperation } from '../operation.js';
import { inTurns } from '../pause.js';
import { noRepeat, openRequest, type RequestIdentity } from '../requests/requests.js';
import { approveBatch } from './approve-batch.js';
import { batchHolding, claimBatch, currentRecord, isFinal, isOver } from './batch-claim.js';
import { type BatchContext, contextOf, contextOfBatch, messages, ownerOf } from './batch-context.js';
import { closeAccounts, needsClosing } from './close-accounts.js';
import { type Failure, resultOf } from './execute-result.js';
import { findBatch } from './get-batch.js';
import { countForeign, countLandedBundles, releaseHolds } from './holds.js';
import { countVotes } from './land-vote.js';
import { type BatchState, countExecuted, readBatchState } from './on-chain.js';
import type { PhaseInput, PhaseResult } from './phase.js';
import { executeTransactions } from './plan-batch.js';
import { runPhase } from './run-phase.js';
import { waitOutTimeLock } from './time-lock.js';

/** Executes an approved batch, or returns what became of it. */
export const executeBatch = keyedOperation('executeBatch', {
  failure: 'ERR_BATCH_EXECUTE_FAILED',
  saysUnused: false,
  parse: (input, { principal }) => ({
    ...parseInput(executeBatchRequestSchema, input),
    owner: ownerOf(principal),
  }),
  proofTypes: () => [],
  perform: async ({ deps, principal, input: { batchId, signedTx }, call, identity, earlier }) => {
    const found = await findBatch(deps, principal, batchId);
    const { undone } = await watchLandings(deps, { batchId: found.id });
    const batch = undone === 0 ? found : await findBatch(deps, principal, batchId);
    // An engine that died after the verdict has left the accounts open: then the answer waits until they are closed. So it does
    // where the chain took back what it told of.
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
    const stored = await this.#deps.store.read((tx) =>
      tx.bundles.ofBatch(batch.id, ['OWNER_APPROVAL', 'EXECUTE']),
    );
    const known = batch.executeResult;
    if (known === null) return this.#execute(batch, stored, signedTx, lease);
    const phase = await this.#runTransactions(batch, stored, { isOver: true, lease });
    return phase.next === known.totalSuccessful ? batch : this.#conclude(batch, lease, phase, null);
  }

  async #execute(
    batch: BatchRecord,
    stored: readonly BundleRecord[],
    signedTx: string | undefined,
    lease: Lease,
  ): Promise<BatchRecord> {
    const deps = this.#deps;
    const before = await this.#read(batch);
    if (before.batch === null) {
      // Whatever is closed can run no more; what of it was executed, the past of the chain says.
      const phase = await this.#runTransactions(batch, stored, { isOver: true, lease });
      await countVotes(deps, batch, lease);
      const isExecuted = phase.next === batch.pipelines.length;
      return this.#conclude(batch, lease, phase, isExecuted ? null : 'Its accounts were closed on chain.');
    }
    const blocked = await approveBatch({ deps, context: this.#context, batch, stored, lease, signedTx });
    const isOver = blocked !== null;
    if (!isOver && before.multisig.timeLockSeconds > 0)
      await waitOutTimeLock(deps, batch.id, await this.#read(batch), lease);
    return this.#conclude(
      batch,
      lease,
      await this.#runTransactions(batch, stored, { isOver, lease }),
      blocked,
    );
  }

  async #runTransactions(
    batch: BatchRecord,
    stored: readonly BundleRecord[],
    how: Pick<PhaseInput, 'isOver' | 'lease'>,
  ): Promise<PhaseResult> {
    const place = { flywheel: this.#context.flywheel, batchIndex: batch.batchIndex };
    return runPhase(this.#deps, {
      ...how,
      batchId: batch.id,
      tokenId: batch.tokenId,
      phase: 'EXECUTE',
      signer: this.#context.operator,
      transactions: await inTurns(executeTransactions(place, messages(batch))),
      // Members may run them with other tools.
      position: async () =>
        countExecuted(this.#deps.chain, this.#context.flywheel, batch, await this.#read(batch)),
      stored: stored.filter((bundle) => bundle.phase === 'EXECUTE'),
      landed: (tx, landed) => countLandedBundles(tx, batch, landed),
    });
  }

  #read(batch: BatchRecord): Promise<BatchState> {
    return readBatchState(this.#deps.chain, this.#context.flywheel, batch);
  }

  /** Writes the verdict. What did not land and can still run on chain goes on counting against the caps. */
  async #conclude(
    batch: BatchRecord,
    lease: Lease,
    phase: PhaseResult,
    blocked: string | null,
  ): Promise<BatchRecord> {
    await this.#awaitForeign(batch, lease, phase);
    const executeResult = resultOf(batch, phase, failureOf(batch, phase, blocked));
    const status = executeResult.totalFailed === 0 ? 'EXECUTED' : 'FAILED';
    // What had been counted when the batch failed is not counted once more.
    const known = batch.executeResult?.totalSuccessful ?? 0;
    const foreign = phase.foreign.filter((at) => at >= known);
    await lease.write(async (tx) => {
      await phase.settle(tx);
      await countForeign(tx, batch, foreign);
      await tx.batches.transition(batch.id, status, { executeResult }, isoTime(tx.nowMs));
      if (blocked !== null) await releaseHolds(tx, batch);
      if (this.#request !== null) {
        const value: ExecuteBatchResult = { batchId: batch.id as Uuid, result: executeResult };
        await tx.requests.complete(this.#request.id, JSON.stringify(value));
        this.#request = null;
      }
    });
    return { ...batch, status, executeResult };
  }

  /** What others have executed counts once no fork can take it back; what is sent here is watched. */
  async #awaitForeign(batch: BatchRecord, lease: Lease, { foreign }: PhaseResult): Promise<void> {
    const { chain } = this.#deps;
    const last = Math.max(-1, ...foreign);
    await untilFinal(this.#deps, batch.id, lease, async () => {
      if (last < 0) return true;
      const found = await readBatchState(chain, this.#context.flywheel, batch, 'finalized');
      const isClosed = found.batch === null && found.multisig.transactionIndex >= batch.batchIndex;
      return isClosed || (found.batch?.executedTransactionIndex ?? 0) > last;
    });
  }

  async #close(batch: BatchRecord, lease: Lease): Promise<void> {
    try {
      const reason = await closeAccounts(this.#deps, this.#context, batch, lease);
      if (reason === null) return;
      throw new FlywheelError('ERR_UNAVAILABLE', `The accounts of batch ${batch.id} stay open: ${reason}.`);
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

function failureOf(batch: BatchRecord, phase: PhaseResult, blocked: string | null): Failure | null {
  const { next, failure } = phase;
  if (failure !== null || next === batch.pipelines.length) return failure;
  if (blocked === null) return { message: 'Members have executed what had failed; the rest was not tried.' };
  return { failedTransaction: next, firstTransaction: next, message: blocked };
}
