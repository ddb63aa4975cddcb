/** The two burn operations (service specification, sections 4.1 and 4.2); a request is processed in chunks. */
import type { ElementOutcome } from '../../contract/call.js';
import {
  type BurnBatchResult,
  type BurnError,
  type BurnResult,
  type BurnShape,
  burnShapeSchema,
  burnShapesSchema,
} from '../../contract/schemas/burn.js';
import { invalidRequest, parseInput } from '../../contract/validate.js';
import { type ErrorCode, isErrorCode } from '../../errors/codes.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BurnRecord, LostTransaction, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { DEFAULT_LIMITS, type EngineLimits } from '../deps.js';
import { HeldLease } from '../lease.js';
import { done, type KeyedCall, openRequest, operation, refusedByContent, takenOver } from '../operation.js';
import { maybeSent } from '../settle.js';
import {
  type BurnContext,
  type PendingBurn,
  pendingOf,
  type SettledBurn,
  settleBurns,
  signChunk,
  writeIntents,
  writeOutcomes,
} from './chunk.js';
import { type Burn, findLost, isRefusal, maybeLost, prepareBurns, type Refusal } from './elements.js';

/** A failed burn does not use up its idempotency key. */
export const burn = operation('burn', {
  parse: (input) => parseInput(burnShapeSchema, input),
  proofTypes: ({ type }) => [type],
  replay: async (stored) => ({ value: stored as BurnResult, meta: { replayed: true } }),
  perform: async (call) => {
    const [outcome] = await runBurns(call, [call.input], true);
    invariant(outcome !== undefined, 'Every element has an outcome.');
    if (outcome.status === 'success') return done(burnResult(outcome));
    const code: ErrorCode = isErrorCode(outcome.type) ? outcome.type : 'ERR_BURN_TOKENOMICS_FAILED';
    throw new FlywheelError(code, outcome.message);
  },
});

export const burnBatch = operation('burnBatch', {
  parse: (input, { deps }) => burnShapes(input, deps.limits),
  proofTypes: (inputs) => inputs.map(({ type }) => type),
  replay: async (stored, { input, call }) => {
    const outcomes = replayedOutcomes(stored, input);
    for (const outcome of outcomes) call.onElement?.(outcome);
    return { value: batchResult(outcomes), meta: { replayed: true } };
  },
  perform: async (call) => done(batchResult(await runBurns(call, call.input, false))),
});

function burnShapes(input: unknown, { maxBurnBatchElements: most }: EngineLimits): readonly BurnShape[] {
  if (!Array.isArray(input)) throw invalidRequest(['expected an array of burns']);
  if (input.length > most) throw invalidRequest([`expected at most ${most} burns, got ${input.length}`]);
  return parseInput(burnShapesSchema, input);
}

/**
 * Runs every element without an outcome.
 * @param isAlone - a failure is not stored.
 * @returns one stored outcome per element, in order.
 */
async function runBurns(
  keyed: KeyedCall<unknown>,
  inputs: readonly BurnShape[],
  isAlone: boolean,
): Promise<readonly ElementOutcome[]> {
  const elements = await prepareBurns(keyed.principal, inputs, keyed.deps.limits);
  // A burn invalid in every state of the chain is refused before any lock is taken.
  const refusal = isAlone && keyed.earlier === undefined ? elements.find(isRefusal) : undefined;
  if (refusal !== undefined) throw refusedByContent(keyed.identity.value, errorOf(refusal));
  return new BurnRun(keyed, inputs, elements, isAlone).toEnd();
}

const RECORD_FAILED: Refusal = {
  code: 'ERR_CREATE_API_EVENT_FAILED',
  message: 'The burn could not be stored. Nothing was burned.',
};

const errorOf = ({ code, message }: Refusal, cause?: unknown): FlywheelError =>
  new FlywheelError(code, message, { cause });

/** An error of one record, unlike an unreachable store, which stops the request. */
const isOfRecord = (cause: unknown): boolean => !isFlywheelError(cause) || cause.code === 'ERR_INTERNAL';

class BurnRun {
  readonly #outcomes: ElementOutcome[] = [];
  #lease: HeldLease | undefined;
  #hasBegun = false;

  constructor(
    private readonly keyed: KeyedCall<unknown>,
    private readonly inputs: readonly BurnShape[],
    private readonly elements: readonly (Burn | Refusal)[],
    private readonly isAlone: boolean,
  ) {
    for (const [index, element] of elements.entries()) if (isRefusal(element)) this.#refuse(index, element);
  }

  async toEnd(): Promise<readonly ElementOutcome[]> {
    try {
      return await this.#runAll();
    } catch (error) {
      await this.#lease?.giveUp();
      throw this.#hasBegun ? maybeSent(error) : error;
    } finally {
      this.#lease?.end();
    }
  }

  async #runAll(): Promise<readonly ElementOutcome[]> {
    const { deps, principal, call, earlier } = this.keyed;
    const all = this.elements.length;
    // Takes the lease first: two processes must never sign or send burns of one request at once.
    if (earlier !== undefined) await this.#store(async () => undefined);
    const isRefused = earlier === undefined && this.elements.every(isRefusal);
    const chunk = (deps.chain.pollMs === null ? deps.limits : DEFAULT_LIMITS).burnsPerCommit;
    for (let from = 0; ; from += chunk) {
      call.signal?.throwIfAborted();
      const to = isRefused ? all : Math.min(from + chunk, all);
      const settled = isRefused ? [] : await this.#runChunk(from, to);
      const write = (tx: StoreTransaction) => writeOutcomes(tx, principal.key.tokenId, settled);
      await (to === all ? this.#close(settled) : this.#store(write));
      for (const outcome of this.#outcomes.slice(from, to)) call.onElement?.(outcome);
      if (to === all) return this.#outcomes;
    }
  }

  async #runChunk(from: number, to: number): Promise<readonly SettledBurn[]> {
    const { deps, principal, earlier } = this.keyed;
    const context = { deps, project: principal.project };
    const found =
      earlier === undefined ? [] : await deps.store.read((tx) => tx.burns.ofRequest(earlier.id, from, to));
    this.#hasBegun ||= found.length > 0;
    const settled = [...(await this.#settle(context, pendingOf(found), false))];
    const known = new Set(found.map(({ index }) => index));
    const unknown = this.elements
      .slice(from, to)
      .flatMap((element) => (isRefusal(element) || known.has(element.index) ? [] : element));
    const lost = await this.#findLost(unknown);
    for (const [index, like] of lost) this.#refuse(index, maybeLost(like));
    const missing = unknown.filter(({ index }) => !lost.has(index));
    if (missing.length > 0) {
      const written = await this.#write(context, missing);
      this.#hasBegun ||= written.length > 0;
      settled.push(...(await this.#settle(context, written, true)));
    }
    for (const burn of [...found.filter(({ status }) => status !== 'PENDING'), ...settled])
      this.#outcomes[burn.index] = outcomeOf(burn, this.inputs[burn.index] as BurnShape);
    return settled;
  }

  /** Only a request that was begun before can have lost burns. */
  async #findLost(burns: readonly Burn[]): Promise<ReadonlyMap<number, LostTransaction>> {
    const { deps, earlier } = this.keyed;
    return earlier === undefined ? new Map() : deps.store.read((tx) => findLost(tx, earlier, burns));
  }

  async #settle(context: BurnContext, burns: readonly PendingBurn[], areNew: boolean) {
    if (burns.length === 0) return [];
    return settleBurns(context, burns, { areNew, lease: this.#held });
  }

  get #held(): HeldLease {
    invariant(this.#lease !== undefined, 'Burns that are stored are of a request that is held.');
    return this.#lease;
  }

  /**
   * If the write fails while the store works, the elements are refused. If the store is unreachable the run stops: the intents
   * may be stored, and the next call with the key resumes.
   */
  async #write(context: BurnContext, elements: readonly Burn[]): Promise<readonly PendingBurn[]> {
    try {
      const chunk = await signChunk(context, elements);
      this.#refuseAll(chunk.refusals);
      return await this.#store(async (tx, id) => {
        const request = { id, keyId: this.keyed.principal.key.id };
        const { burns, refusals } = await writeIntents(context, tx, request, chunk);
        this.#refuseAll(refusals);
        return burns;
      });
    } catch (cause) {
      if (!isOfRecord(cause)) throw cause;
      for (const { index } of elements) this.#refuse(index, RECORD_FAILED);
      return [];
    }
  }

  /** Writes under the lease. The first write also opens the request in the same transaction and takes the lease. */
  async #store<Result>(work: (tx: StoreTransaction, requestId: string) => Promise<Result>): Promise<Result> {
    const { deps, principal, identity, earlier, call } = this.keyed;
    const lease = this.#lease;
    if (lease !== undefined) return lease.write((tx) => work(tx, lease.id));
    let request: RequestRecord | undefined;
    const take = (): void => {
      if (request !== undefined) this.#lease = new HeldLease(deps, { request, lost: takenOver }, call);
    };
    try {
      const result = await deps.store.transaction(async (tx) => {
        request = await openRequest(deps, tx, identity, earlier);
        return work(tx, request.id);
      }, principal.key);
      take();
      return result;
    } catch (error) {
      // The request may be stored after all; taking the lease lets `giveUp` release it for the next call with the key.
      if (isFlywheelError(error, 'ERR_STORE_UNAVAILABLE')) take();
      throw error;
    }
  }

  async #close(settled: readonly SettledBurn[]): Promise<void> {
    const [lease, reply] = [this.#lease, this.#reply()];
    const { tokenId } = this.keyed.principal.key;
    if (reply === null && lease === undefined) return;
    if (lease !== undefined && reply === null) {
      const burns = this.elements.flatMap((element) => (isRefusal(element) ? [] : element));
      const [like] = (await this.#findLost(burns)).values();
      if (like !== undefined) {
        await lease.write((tx) => writeOutcomes(tx, tokenId, settled));
        // Its key stays in use: a repeat under it burns nothing.
        const { code, message } = maybeLost(like);
        throw new FlywheelError(code, message, { retryAfterSeconds: 60 });
      }
    }
    try {
      await this.#store(async (tx, id) => {
        await writeOutcomes(tx, tokenId, settled);
        if (reply === null) await tx.requests.remove(id);
        else await tx.requests.complete(id, reply);
      });
    } catch (cause) {
      // Without a stored answer, a repeat would burn elements that this answer reports as failed.
      if (!isOfRecord(cause) || lease !== undefined) throw cause;
      const message = 'The request could not be stored. Nothing was burned.';
      throw errorOf({ ...RECORD_FAILED, message }, cause);
    }
  }

  /** `null`: the request is removed, and its key stays unused. */
  #reply(): string | null {
    if (!this.isAlone) return storedResult(this.#outcomes);
    const [outcome] = this.#outcomes;
    return outcome?.status === 'success' ? JSON.stringify(burnResult(outcome)) : null;
  }

  #refuse(index: number, refusal: Refusal): void {
    this.#outcomes[index] = {
      index,
      status: 'error',
      ...burnError(this.inputs[index] as BurnShape, refusal),
    };
  }

  #refuseAll(refusals: ReadonlyMap<number, Refusal>): void {
    for (const [index, refusal] of refusals) this.#refuse(index, refusal);
  }
}

const burnError = (request: BurnShape, refusal: Refusal): BurnError => ({
  message: refusal.message,
  type: refusal.code,
  proof: request.proof,
  proofType: request.type,
});

type Ended = Pick<
  BurnRecord,
  'index' | 'proofHash' | 'signature' | 'status' | 'errorCode' | 'errorMessage' | 'dateSettled'
>;

function outcomeOf(burn: Ended, input: BurnShape): ElementOutcome {
  const { index, proofHash, signature, status, errorCode, errorMessage, dateSettled } = burn;
  if (status !== 'FAILED') {
    const told = { hash: proofHash, txHash: signature, type: input.type, dateBurned: dateSettled ?? '' };
    return { index, status: 'success', result: 'SUCCESS', ...told };
  }
  const code = errorCode !== null && isErrorCode(errorCode) ? errorCode : 'ERR_BURN_TOKENOMICS_FAILED';
  const refusal = { code, message: errorMessage ?? 'The burn failed.' } as const;
  return { index, status: 'error', ...burnError(input, refusal) };
}

function burnResult(outcome: Extract<ElementOutcome, { status: 'success' }>): BurnResult {
  const { index: _index, status: _status, ...result } = outcome;
  return result;
}

function batchResult(outcomes: readonly ElementOutcome[]): BurnBatchResult {
  const result: BurnBatchResult = { success: [], errors: [] };
  for (const outcome of outcomes) {
    if (outcome.status === 'success') {
      result.success.push(burnResult(outcome));
    } else {
      const { index: _index, status: _status, ...error } = outcome;
      result.errors.push(error);
    }
  }
  return result;
}

type StoredError = Pick<BurnError, 'message' | 'type'> & { readonly index: number };

/** {@link batchResult} without proofs, so that refused requests do not grow the store. */
function storedResult(outcomes: readonly ElementOutcome[]): string {
  const errors = outcomes.flatMap((one): StoredError[] =>
    one.status === 'error' ? [{ message: one.message, type: one.type, index: one.index }] : [],
  );
  return JSON.stringify({ success: batchResult(outcomes).success, errors });
}

/** A stored answer has the successes in order, and the errors by index. */
function replayedOutcomes(stored: unknown, inputs: readonly BurnShape[]): readonly ElementOutcome[] {
  const { success, errors } = stored as Pick<BurnBatchResult, 'success'> & { errors: readonly StoredError[] };
  const failed = new Map(errors.map((error) => [error.index, error]));
  const burned = success.values();
  return inputs.map(({ proof, type: proofType }, index) => {
    const error = failed.get(index);
    if (error !== undefined) return { ...error, status: 'error', proof, proofType };
    const { value: burn } = burned.next();
    invariant(burn !== undefined, 'A repeat has the elements of its request.');
    return { index, status: 'success', ...burn };
  });
}
