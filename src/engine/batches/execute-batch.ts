/** Execute: approvals, then the transactions in order, then the verdict; idempotent by batch (contract, section 1.2). */
import type { Call, Reply } from '../../contract/call.js';
import { checkIdempotencyKey } from '../../contract/headers.js';
import { OPERATIONS } from '../../contract/operations.js';
import {
  type ExecuteBatchRequest,
  type ExecuteBatchResult,
  type ExecuteResult,
  executeBatchRequestSchema,
} from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Uuid } from '../../values/ids.js';
import { isoTime } from '../../values/time.js';
import { admit, type Principal, requireFlywheel, requireToken } from '../auth/authenticate.js';
import { type EngineDeps, LEASE_MS } from '../deps.js';
import {
  findEarlier,
  isWorkedOn,
  noRepeat,
  openRequest,
  type RequestIdentity,
  requestIdentity,
} from '../requests/requests.js';
import { approveBatch } from './approve-batch.js';
import { closeAccounts, needsClosing } from './close-accounts.js';
import { totalAirdrop, totalBurn } from './funds.js';
import { findBatch } from './get-batch.js';
import { intoBundles, type PhaseResult } from './phase.js';
import { executeTransactions } from './plan-batch.js';
import { runPhase } from './run-phase.js';
import { type BatchScene, messages } from './scene.js';

/** Executes an approved batch, or returns what became of it. */
export async function executeBatch(
  deps: EngineDeps,
  input: ExecuteBatchRequest,
  call: Call,
): Promise<Reply<ExecuteBatchResult>> {
  const principal = await admit(deps.store, call.credential, OPERATIONS.executeBatch);
  const key = checkIdempotencyKey(call.idempotencyKey, OPERATIONS.executeBatch.idempotencyKey);
  const request = parseInput(executeBatchRequestSchema, input);
  requireToken(principal);
  requireFlywheel(principal);
  const identity = requestIdentity(principal.key.id, 'executeBatch', key, request);
  const earlier = await deps.store.read((tx) => findEarlier(deps, tx, identity));
  const batch = await findBatch(deps, principal, request.batchId);
  // An engine that died after the verdict has left the accounts open: then the answer waits until they are closed.
  if (earlier?.reply != null && !needsClosing(batch)) {
    return {
      value: JSON.parse(earlier.reply) as ExecuteBatchResult,
      meta: { replayed: true, cost: batch.cost },
    };
  }
  if (call.repeatOnly === true && !isFinal(batch)) throw noRepeat();
  const execution = new Execution(deps, principal, batch, identity);
  return execution.run(request.signedTx, call.signal);
}

class Execution {
  readonly #deps: EngineDeps;
  readonly #scene: BatchScene;
  readonly #identity: RequestIdentity;
  readonly #batch: BatchRecord;
  #requestId: string | null = null;

  constructor(deps: EngineDeps, principal: Principal, batch: BatchRecord, identity: RequestIdentity) {
    const flywheel = requireFlywheel(principal);
    this.#deps = deps;
    this.#scene = { token: requireToken(principal), flywheel, operator: deps.keyring.get(flywheel.operator) };
    this.#batch = batch;
    this.#identity = identity;
  }

  async run(signedTx: string, signal: AbortSignal | undefined): Promise<Reply<ExecuteBatchResult>> {
    if (isFinal(this.#batch) && !needsClosing(this.#batch)) return this.#stored(this.#batch);
    const claimed = await this.#claim();
    // It may have become final only since it was read.
    if (claimed === 'busy') return this.#answer(this.#batch.id, true);
    try {
      const final = isFinal(claimed) ? claimed : await this.#execute(claimed, signedTx, signal);
      if (needsClosing(final)) await this.#close(final);
      await this.#release();
      return await this.#answer(final.id, isFinal(claimed));
    } catch (error) {
      // Whatever has landed is stored; the batch itself makes the next execute carry on, whichever key it comes with.
      await this.#release().catch(() => {});
      throw error;
    }
  }

  /** Takes the batch; `'busy'` when it is final and somebody else is closing its accounts. */
  async #claim(): Promise<BatchRecord | 'busy'> {
    const { store, instances, clock } = this.#deps;
    return store.transaction(async (tx) => {
      const batch = await tx.batches.get(this.#batch.id);
      invariant(batch !== undefined, 'Batches are never removed.');
      if (batch.status === 'AVAILABLE_TO_QUEUE') {
        throw new FlywheelError('ERR_BATCH_NOT_FINALIZED', `Batch ${batch.id} is not finalized yet.`);
      }
      if (isWorkedOn(this.#deps, batch)) {
        if (isFinal(batch)) return 'busy';
        throw new FlywheelError('ERR_BATCH_IN_PROGRESS', `Batch ${batch.id} is being executed.`, {
          retryAfterSeconds: 1,
        });
      }
      await tx.batches.claim(batch.id, instances.id, clock.nowMs() + LEASE_MS);
      if (this.#identity.value !== undefined && !isFinal(batch)) await this.#open(tx);
      return batch;
    });
  }

  async #open(tx: StoreTransaction): Promise<void> {
    const opening = await openRequest(this.#deps, tx, this.#identity);
    if (opening.kind !== 'replayed') this.#requestId = opening.request.id;
  }

  async #execute(
    batch: BatchRecord,
    signedTx: string,
    signal: AbortSignal | undefined,
  ): Promise<BatchRecord> {
    const deps = this.#deps;
    const stored = await deps.store.read((tx) => tx.bundles.ofBatch(batch.id));
    const blocked = await approveBatch({ deps, scene: this.#scene, batch, stored, signedTx });
    if (blocked !== null) return this.#conclude(batch, null, blocked);
    const place = { flywheel: this.#scene.flywheel, batchIndex: batch.batchIndex };
    const phase = await runPhase(deps, {
      batchId: batch.id,
      phase: 'EXECUTE',
      signer: this.#scene.operator,
      drafts: intoBundles(executeTransactions(place, messages(batch))),
      stored: stored.filter((bundle) => bundle.phase === 'EXECUTE'),
      signal,
      renewLease: (tx) => tx.batches.claim(batch.id, deps.instances.id, deps.clock.nowMs() + LEASE_MS),
    });
    return this.#conclude(batch, phase, null);
  }

  /** Writes the verdict, and gives back the caps of what did not execute. */
  async #conclude(
    batch: BatchRecord,
    phase: PhaseResult | null,
    blocked: string | null,
  ): Promise<BatchRecord> {
    const executeResult = resultOf(batch, phase, blocked);
    const status = executeResult.totalFailed === 0 ? 'EXECUTED' : 'FAILED';
    const undone = batch.pipelines.slice(executeResult.totalSuccessful);
    const { tokenId, day } = batch;
    await this.#deps.store.transaction(async (tx) => {
      await phase?.settle(tx);
      await tx.batches.transition(batch.id, status, { executeResult }, isoTime(this.#deps.clock.nowMs()));
      for (const [kind, amount] of [
        ['burn', totalBurn(undone)],
        ['airdrop', totalAirdrop(undone)],
      ] as const) {
        if (amount > 0n) await tx.usage.release({ tokenId, day, kind, amount });
      }
      if (this.#requestId !== null) {
        const value: ExecuteBatchResult = { batchId: batch.id as Uuid, result: executeResult };
        await tx.requests.complete(this.#requestId, JSON.stringify(value));
        this.#requestId = null;
      }
    });
    return { ...batch, status, executeResult };
  }

  async #close(batch: BatchRecord): Promise<void> {
    try {
      await closeAccounts(this.#deps, this.#scene, batch);
    } catch {
      // The batch is executed and says so; its rent is reclaimed by the next execute.
    }
  }

  /** Lets go of the batch, and forgets a request that has no answer: it does not use its key up. */
  async #release(): Promise<void> {
    const requestId = this.#requestId;
    await this.#deps.store.transaction(async (tx) => {
      await tx.batches.unclaim(this.#batch.id);
      if (requestId !== null) await tx.requests.remove(requestId);
    });
  }

  async #answer(batchId: string, replayed: boolean): Promise<Reply<ExecuteBatchResult>> {
    const batch = await this.#deps.store.read((tx) => tx.batches.get(batchId));
    invariant(batch !== undefined, 'Batches are never removed.');
    return this.#stored(batch, replayed);
  }

  #stored(batch: BatchRecord, replayed = true): Reply<ExecuteBatchResult> {
    invariant(batch.executeResult !== null, 'A final batch has its result.');
    return {
      value: { batchId: batch.id as Uuid, result: batch.executeResult },
      meta: { replayed, cost: batch.cost },
    };
  }
}

const isFinal = ({ status }: BatchRecord): boolean => status === 'EXECUTED' || status === 'FAILED';

function resultOf(batch: BatchRecord, phase: PhaseResult | null, blocked: string | null): ExecuteResult {
  const total = batch.pipelines.length;
  const totalSuccessful = phase?.landedTransactions ?? 0;
  const failure =
    phase?.failure ??
    (blocked === null ? null : { failedTransaction: 0, firstTransaction: 0, message: blocked });
  return {
    total,
    totalSuccessful,
    totalFailed: total - totalSuccessful,
    successfulExecutions: [...(phase?.landed ?? [])],
    ...(failure === null
      ? {}
      : {
          failedOnTransactionIndex: failure.failedTransaction,
          failedStartTransactionIndex: failure.firstTransaction,
          failedTxMsg: failure.message,
        }),
  };
}
