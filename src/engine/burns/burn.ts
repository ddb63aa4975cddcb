/** The two burn operations (service specification, sections 4.1 and 4.2): the burns of a request from first to last, chunk by chunk. */
import type { Call, ElementOutcome } from '../../contract/call.js';
import {
  type BurnResult,
  type BurnShape,
  burnShapeSchema,
  burnShapesSchema,
} from '../../contract/schemas/burn.js';
import { invalidRequest, parseInput } from '../../contract/validate.js';
import { type ErrorCode, isErrorCode } from '../../errors/codes.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BurnRecord, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { EngineDeps, EngineLimits } from '../deps.js';
import { HeldLease, holderOf } from '../lease.js';
import { type KeyedCall, keyedOperation, type Principal, requireToken } from '../operation.js';
import { justRun, openRequest, type RequestIdentity, refusedByContent, takenOver } from '../requests.js';
import { maybeSent } from '../settle.js';
import type { BurnContext } from './burn-transaction.js';
import {
  type PendingBurn,
  pendingOf,
  type SettledBurn,
  settleBurns,
  signChunk,
  type Written,
  writeIntents,
  writeOutcomes,
} from './chunk.js';
import {
  type Burn,
  batchResult,
  burnError,
  burnResult,
  type Ended,
  isRefusal,
  outcomeOf,
  prepareBurns,
  type Refusal,
  replayedResult,
  storedResult,
} from './elements.js';

/** Burns once; a burn that fails does not use its idempotency key up. */
export const burn = keyedOperation('burn', {
  saysUnused: true,
  parse: (input) => parseInput(burnShapeSchema, input),
  proofTypes: ({ type }) => [type],
  replay: async (stored) => ({ value: stored as BurnResult, meta: { replayed: true } }),
  perform: async (call) => {
    const [outcome] = await runAll(call, [call.input], {
      onRefused: (refusals) => {
        const refusal = refusals.get(0);
        if (refusal !== undefined) throw new FlywheelError(refusal.code, refusal.message);
      },
      reply: ([outcome]) => (outcome?.status === 'success' ? JSON.stringify(burnResult(outcome)) : null),
    });
    invariant(outcome !== undefined, 'Every element has an outcome.');
    if (outcome.status === 'success') return { value: burnResult(outcome), meta: { replayed: false } };
    const code: ErrorCode = isErrorCode(outcome.type) ? outcome.type : 'ERR_BURN_TOKENOMICS_FAILED';
    throw new FlywheelError(code, outcome.message);
  },
});

/** Burns each element on its own and answers for each. */
export const burnBatch = keyedOperation('burnBatch', {
  saysUnused: true,
  parse: (input, { deps }) => burnShapes(input, deps.limits),
  proofTypes: (inputs) => inputs.map(({ type }) => type),
  replay: async (stored, { input }) => ({
    value: replayedResult(stored, input),
    meta: { replayed: true },
  }),
  perform: async (call) => {
    const outcomes = await runAll(call, call.input, {
      reply: storedResult,
    });
    return { value: batchResult(outcomes), meta: { replayed: false } };
  },
});

/** The elements, if the structure of the whole is right; how many there are is looked at before any of them. */
function burnShapes(input: unknown, { maxBurnBatchElements: most }: EngineLimits): readonly BurnShape[] {
  if (!Array.isArray(input)) throw invalidRequest(['expected an array of burns']);
  if (input.length > most) throw invalidRequest([`expected at most ${most} burns, got ${input.length}`]);
  return parseInput(burnShapesSchema, input);
}

async function runAll(
  keyed: KeyedCall<unknown>,
  inputs: readonly BurnShape[],
  ends: Pick<BurnRun, 'onRefused' | 'reply'>,
): Promise<readonly ElementOutcome[]> {
  const { deps, principal, identity, earlier } = keyed;
  const elements = await prepareBurns(principal, inputs, deps.limits);
  if (earlier === undefined) refuseAtOnce(elements, ends, identity.value);
  return runBurns({ ...keyed, ...ends, inputs, elements });
}

/** Elements that cannot be burned whatever the chain says are refused before any lock is taken. */
function refuseAtOnce(
  elements: BurnRun['elements'],
  { onRefused }: Pick<BurnRun, 'onRefused'>,
  key: string | undefined,
): void {
  const refusals = elements.flatMap((element, index) =>
    isRefusal(element) ? [[index, element] as const] : [],
  );
  try {
    onRefused?.(new Map(refusals));
  } catch (error) {
    throw refusedByContent(key, error);
  }
}

interface BurnRun {
  readonly deps: EngineDeps;
  readonly principal: Principal;
  readonly identity: RequestIdentity;
  /** The unfinished request to carry on, if there is one. */
  readonly earlier: RequestRecord | undefined;
  readonly elements: readonly (Burn | Refusal)[];
  readonly inputs: readonly BurnShape[];
  readonly call: Pick<Call, 'signal' | 'onElement' | 'onWaiting' | 'repeatOnly'>;
  /**
   * Hears before anything is signed or written which elements are refused at once. A run that takes it speaks for one element, and
   * gets every failure as an error; else a failure is that of the elements concerned.
   */
  readonly onRefused?: (refusals: ReadonlyMap<number, Refusal>) => void;
  /** The answer of the request as it is stored with the last outcomes; `null`: the request is forgotten, and its key is not used up. */
  readonly reply: (outcomes: readonly ElementOutcome[]) => string | null;
}

/** Burns of one chunk where a chain takes its time; elsewhere each commit of the ledger is one. */
const CLUSTER_CHUNK = 256;

/**
 * Runs every element that has no outcome yet.
 * @returns one outcome an element, in order; all of them are stored.
 */
async function runBurns(run: BurnRun): Promise<readonly ElementOutcome[]> {
  const { chain, limits } = run.deps;
  const chunk = chain.pollMs === null ? limits.burnsPerCommit : CLUSTER_CHUNK;
  const progress = new Progress(run);
  try {
    if (run.earlier !== undefined || !run.elements.every(isRefusal)) {
      const context = { ...run, token: requireToken(run.principal) };
      for (let from = 0; from < run.elements.length; from += chunk) {
        run.call.signal?.throwIfAborted();
        await progress.runChunk(context, from, Math.min(from + chunk, run.elements.length));
      }
    }
    return await progress.finish();
  } catch (error) {
    await progress.giveUp();
    throw progress.hasBegun ? maybeSent(error) : error;
  } finally {
    progress.end();
  }
}

const RECORD_FAILED: Refusal = {
  code: 'ERR_CREATE_API_EVENT_FAILED',
  message: 'The burn could not be stored. Nothing was burned.',
};

/** What one run has done so far. */
class Progress {
  readonly #run: BurnRun;
  readonly #outcomes: (ElementOutcome | undefined)[];
  /** Outcomes that are known and not stored yet; they go into the next transaction. */
  #unwritten: readonly SettledBurn[] = [];
  #announced = 0;
  /** Some of it is written down, and may have been sent. */
  #hasBegun = false;
  #request: RequestRecord | undefined;
  #lease: HeldLease | undefined;

  constructor(run: BurnRun) {
    this.#run = run;
    this.#outcomes = run.inputs.map(() => undefined);
    for (const [index, element] of run.elements.entries())
      if (isRefusal(element)) this.#refuse(index, element);
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Writes a chunk and brings it to its end. */
  async runChunk(context: BurnContext, from: number, to: number): Promise<void> {
    await this.#takeOver();
    const found = await this.#earlierBurns(from, to);
    this.#hasBegun ||= found.length > 0;
    for (const burn of found) if (burn.status !== 'PENDING') this.#record(burn);
    await this.#settle(context, pendingOf(found), false);
    const known = new Set(found.map(({ index }) => index));
    const missing = this.#run.elements
      .slice(from, to)
      .flatMap((element) => (isRefusal(element) || known.has(element.index) ? [] : element));
    if (missing.length === 0) return;
    const { burns, refusals } = await this.#write(context, missing);
    this.#hasBegun ||= burns.length > 0;
    for (const [index, refusal] of refusals) this.#refuse(index, refusal);
    this.#announce();
    await this.#settle(context, burns, true);
  }

  async #settle(context: BurnContext, burns: readonly PendingBurn[], areNew: boolean): Promise<void> {
    if (burns.length === 0) return;
    const lease = this.#lease;
    invariant(lease !== undefined, 'Burns that are stored are of a request that is held.');
    const settled = await settleBurns(context, burns, { areNew, lease });
    for (const burn of settled) this.#record(burn);
    this.#unwritten = [...this.#unwritten, ...settled];
  }

  /**
   * Writes the intents of elements in one transaction. Where that fails though the store is there, some element is at fault:
   * the elements are written in halves, and in the end it alone is refused. Where the store is away the run stops: the intents
   * may be stored, and the request stays as it is for the next call with its key.
   */
  async #write(context: BurnContext, elements: readonly Burn[]): Promise<Written> {
    try {
      const onRefused = this.#run.onRefused ?? (() => undefined);
      const chunk = await signChunk(context, elements, onRefused);
      return await this.#store(async (tx, request) => {
        await writeOutcomes(tx, context.token.id, this.#unwritten);
        const written = await writeIntents(context, tx, request, chunk);
        onRefused(written.refusals);
        tx.whenCommitted(() => this.#forgetWritten());
        return written;
      });
    } catch (cause) {
      if (isFlywheelError(cause) && cause.code !== 'ERR_INTERNAL') throw cause;
      if (this.#run.onRefused !== undefined) throw this.#asError(cause);
      if (elements.length <= 1) return refuseAll(elements);
      const middle = Math.ceil(elements.length / 2);
      const first = await this.#write(context, elements.slice(0, middle));
      const second = await this.#write(context, elements.slice(middle));
      return {
        burns: [...first.burns, ...second.burns],
        refusals: new Map([...first.refusals, ...second.refusals]),
      };
    }
  }

  /** Writes under the lease; the first time it opens the request in the same transaction, and holds it from then on. */
  async #store<Result>(
    work: (tx: StoreTransaction, request: RequestRecord) => Promise<Result>,
  ): Promise<Result> {
    const { deps, principal } = this.#run;
    const held = this.#request;
    if (this.#lease !== undefined && held !== undefined) return this.#lease.write((tx) => work(tx, held));
    let request: RequestRecord | undefined;
    try {
      const result = await deps.store.transaction(async (tx) => {
        request = await this.#open(tx);
        return work(tx, request);
      }, principal.key);
      this.#take(request);
      return result;
    } catch (error) {
      // It may be stored all the same, and `giveUp` lets the next call with its key have it.
      if (isFlywheelError(error, 'ERR_STORE_UNAVAILABLE')) this.#take(request);
      throw error;
    }
  }

  /** The failure of a single burn to write its record. Nothing has been burned then, and nothing will be: the transaction was undone. */
  #asError(cause: unknown): unknown {
    if (this.#request !== undefined) return cause;
    return new FlywheelError(RECORD_FAILED.code, RECORD_FAILED.message, { cause });
  }

  /** Writes the last outcomes and closes the request. */
  async finish(): Promise<readonly ElementOutcome[]> {
    const outcomes = this.#outcomes.map((outcome) => {
      invariant(outcome !== undefined, 'Every element has an outcome.');
      return outcome;
    });
    try {
      await this.#close(this.#run.reply(outcomes));
    } catch (cause) {
      // Without a stored answer a repeat would do what this one says it has not done.
      if (isFlywheelError(cause) && cause.code !== 'ERR_INTERNAL') throw cause;
      if (this.#request !== undefined) throw cause;
      throw new FlywheelError(
        'ERR_CREATE_API_EVENT_FAILED',
        'The request could not be stored. Nothing was burned.',
        { cause },
      );
    }
    this.#forgetWritten();
    this.#announce();
    return outcomes;
  }

  /** @param reply - what is stored as the answer; `null`: the request is forgotten. */
  async #close(reply: string | null): Promise<void> {
    const [held, tokenId] = [this.#request, this.#run.principal.token?.id];
    const settle = async (tx: StoreTransaction): Promise<void> => {
      if (tokenId !== undefined) await writeOutcomes(tx, tokenId, this.#unwritten);
    };
    if (this.#lease !== undefined && held !== undefined && reply !== null)
      return this.#lease.writeLast(async (tx) => {
        const isHeld = await tx.requests.completeHeld(held.id, holderOf(held), reply);
        if (isHeld) await settle(tx);
        return isHeld;
      });
    return this.#store(async (tx, { id }) => {
      await settle(tx);
      if (reply === null) await tx.requests.remove(id);
      else await tx.requests.complete(id, reply);
    });
  }

  /** Keeps what is known, and lets the next call with the same key carry on at once. */
  async giveUp(): Promise<void> {
    const tokenId = this.#run.principal.token?.id;
    if (this.#lease === undefined || tokenId === undefined) return;
    try {
      await this.#lease.write((tx) => writeOutcomes(tx, tokenId, this.#unwritten));
      this.#forgetWritten();
      this.#announce();
    } catch {
      // Another engine carries the request on, or the store is out of reach: the intents are in it.
    }
    await this.#lease.giveUp();
  }

  /** Nothing is done any more. */
  end(): void {
    this.#lease?.end();
  }

  /** Takes an unfinished request before any of its burns is sent or signed again: two must never do that at once. */
  async #takeOver(): Promise<void> {
    if (this.#run.earlier === undefined || this.#request !== undefined) return;
    await this.#store(async () => undefined);
  }

  /** The request is this run's from here on. */
  #take(request: RequestRecord | undefined): void {
    if (request === undefined) return;
    const { deps, call } = this.#run;
    this.#request = request;
    this.#lease ??= new HeldLease(deps, { request, lost: takenOver }, call);
  }

  async #earlierBurns(from: number, to: number): Promise<readonly BurnRecord[]> {
    const earlier = this.#run.earlier;
    if (earlier === undefined) return [];
    return this.#run.deps.store.read((tx) => tx.burns.ofRequest(earlier.id, from, to));
  }

  async #open(tx: StoreTransaction): Promise<RequestRecord> {
    const { deps, identity } = this.#run;
    const opening = await openRequest(deps, tx, identity);
    const expected = this.#run.earlier === undefined ? 'fresh' : 'resumed';
    if (opening.kind !== 'replayed' && opening.kind === expected) return opening.request;
    throw justRun();
  }

  #record(burn: Ended): void {
    const input = this.#run.inputs[burn.index];
    if (input !== undefined) this.#outcomes[burn.index] = outcomeOf(burn, input);
  }

  #refuse(index: number, refusal: Refusal): void {
    const input = this.#run.inputs[index];
    if (input !== undefined) this.#outcomes[index] = { index, status: 'error', ...burnError(input, refusal) };
  }

  #forgetWritten(): void {
    this.#unwritten = [];
  }

  /** Says in their order which outcomes are known, once all that are known are stored. */
  #announce(): void {
    if (this.#unwritten.length > 0) return;
    for (;;) {
      const outcome = this.#outcomes[this.#announced];
      if (outcome === undefined) return;
      this.#announced += 1;
      this.#run.call.onElement?.(outcome);
    }
  }
}

const refuseAll = (elements: readonly Burn[]): Written => ({
  burns: [],
  refusals: new Map(elements.map(({ index }) => [index, RECORD_FAILED])),
});
