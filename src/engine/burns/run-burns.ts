/** A request's burns from first to last, chunk by chunk; shared by the single burn and the batch. */
import type { Call, ElementOutcome } from '../../contract/call.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BurnRecord, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { LEASE_MS } from '../deps.js';
import { abandonRequest, openRequest, type RequestIdentity } from '../requests/requests.js';
import { readBurnWallet } from './allowance.js';
import {
  type BurnContext,
  type ChunkElement,
  type SettledBurn,
  settleBurns,
  writeIntents,
  writeOutcomes,
} from './chunk.js';
import { burnError, type PreparedBurn, type Refusal } from './prepare-burns.js';

/**
 * Elements that share an intent, a ledger commit and an outcome. Each lands in a block of its own, so all of them must
 * land within the 150 blocks that their blockhash lives.
 */
const CHUNK_ELEMENTS = 128;

export interface BurnRun extends BurnContext {
  readonly identity: RequestIdentity;
  /** The unfinished request to carry on, if there is one. */
  readonly earlier: RequestRecord | undefined;
  readonly elements: readonly (PreparedBurn | Refusal)[];
  readonly inputs: readonly PreparedBurn['request'][];
  readonly call: Pick<Call, 'signal' | 'onElement'>;
  /** Told inside the first transaction, before anything is written, which elements are refused at once. */
  readonly onRefused?: (refusals: ReadonlyMap<number, Refusal>) => void;
  /** Closes the request in the transaction that writes the last outcomes. */
  readonly close: (
    tx: StoreTransaction,
    request: RequestRecord,
    outcomes: readonly ElementOutcome[],
  ) => Promise<void>;
}

/**
 * Runs every element that has no outcome yet.
 * @returns one outcome an element, in order; all of them are stored.
 */
export async function runBurns(run: BurnRun): Promise<readonly ElementOutcome[]> {
  const progress = new Progress(run);
  try {
    for (let from = 0; from < run.elements.length; from += CHUNK_ELEMENTS) {
      run.call.signal?.throwIfAborted();
      await progress.runChunk(from, Math.min(from + CHUNK_ELEMENTS, run.elements.length));
    }
    return await progress.finish();
  } catch (error) {
    await progress.giveUp();
    throw error;
  }
}

/** What one run has done so far. */
class Progress {
  readonly #run: BurnRun;
  readonly #outcomes: ElementOutcome[] = [];
  #request: RequestRecord | undefined;
  /** Outcomes that are known and not written yet; they go into the next transaction. */
  #settled: readonly SettledBurn[] = [];
  #announced = 0;

  constructor(run: BurnRun) {
    this.#run = run;
  }

  async runChunk(from: number, to: number): Promise<void> {
    const { deps, token } = this.#run;
    await this.#takeOver();
    const found = await this.#earlierBurns(from, to);
    const resolved = await settleBurns(
      this.#run,
      found.filter((burn) => burn.status === 'PENDING'),
      true,
    );
    const known = new Map(found.map((burn) => [burn.index, burn]));
    const missing: ChunkElement[] = [];
    for (let index = from; index < to; index += 1) {
      const prepared = this.#run.elements[index];
      if (prepared !== undefined && !known.has(index)) missing.push({ index, prepared });
    }
    const [balance, recent] = await Promise.all([
      readBurnWallet(deps.chain, token),
      deps.chain.latestBlockhash(),
    ]);
    const written = await deps.store.transaction(async (tx) => {
      const request = await this.#open(tx);
      await writeOutcomes(tx, token.id, [...this.#settled, ...resolved]);
      const at = { balance, recent, nowMs: deps.clock.nowMs() };
      const intents = await this.#recorded(() => writeIntents(this.#run, tx, request, missing, at));
      if (from === 0) this.#run.onRefused?.(intents.refusals);
      return { request, ...intents };
    });
    this.#request = written.request;
    this.#settled = [];
    this.#announce();
    this.#settled = await settleBurns(this.#run, written.burns, false);
    this.#collect(from, to, [...resolved, ...this.#settled], known, written.refusals);
  }

  /**
   * Names the failure to write the first record of a request. Nothing has been burned then, and nothing will be: it is
   * thrown inside the transaction, which rolls back. Of a later record that could not be said.
   */
  async #recorded<Written>(write: () => Promise<Written>): Promise<Written> {
    try {
      return await write();
    } catch (cause) {
      const isNamed = isFlywheelError(cause) && cause.code !== 'ERR_INTERNAL';
      if (isNamed || this.#request !== undefined) throw cause;
      const message = 'The record of the burn could not be written; nothing was burned.';
      throw new FlywheelError('ERR_CREATE_API_EVENT_FAILED', message, { cause });
    }
  }

  /** Writes the last outcomes and closes the request. */
  async finish(): Promise<readonly ElementOutcome[]> {
    const { deps, token, close } = this.#run;
    await deps.store.transaction(async (tx) => {
      await writeOutcomes(tx, token.id, this.#settled);
      if (this.#request !== undefined) await close(tx, this.#request, this.#outcomes);
    });
    this.#settled = [];
    this.#announce();
    return this.#outcomes;
  }

  /** Keeps what is known, and lets the next call with the same key carry on at once. */
  async giveUp(): Promise<void> {
    const request = this.#request;
    if (request === undefined) return;
    const { deps, token } = this.#run;
    try {
      await deps.store.transaction((tx) => writeOutcomes(tx, token.id, this.#settled));
      this.#settled = [];
      this.#announce();
      await abandonRequest(deps, request);
    } catch {
      // The store is out of reach: the intents are in it, and the lease runs out by itself.
    }
  }

  /** Takes an unfinished request before any of its burns is sent or signed again: two must never do that at once. */
  async #takeOver(): Promise<void> {
    if (this.#run.earlier === undefined || this.#request !== undefined) return;
    this.#request = await this.#run.deps.store.transaction((tx) => this.#open(tx));
  }

  async #earlierBurns(from: number, to: number): Promise<readonly BurnRecord[]> {
    const earlier = this.#run.earlier;
    if (earlier === undefined) return [];
    return this.#run.deps.store.read((tx) => tx.burns.ofRequest(earlier.id, from, to));
  }

  async #open(tx: StoreTransaction): Promise<RequestRecord> {
    const { deps, identity } = this.#run;
    if (this.#request !== undefined) {
      await tx.requests.claim(this.#request.id, deps.instances.id, deps.clock.nowMs() + LEASE_MS);
      return this.#request;
    }
    const opening = await openRequest(deps, tx, identity);
    const expected = this.#run.earlier === undefined ? 'fresh' : 'resumed';
    if (opening.kind !== 'replayed' && opening.kind === expected) return opening.request;
    // Another call with the key was faster; its answer is there for the next try.
    throw new FlywheelError(
      'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      'A request with the same idempotency key has just run.',
      {
        retryAfterSeconds: 1,
      },
    );
  }

  #collect(
    from: number,
    to: number,
    settled: readonly SettledBurn[],
    known: ReadonlyMap<number, BurnRecord>,
    refusals: ReadonlyMap<number, Refusal>,
  ): void {
    const byIndex = new Map(settled.map((item) => [item.burn.index, item]));
    for (let index = from; index < to; index += 1) {
      const item = byIndex.get(index);
      const record = item === undefined ? known.get(index) : { ...item.burn, ...item.outcome };
      const refusal = refusals.get(index);
      const input = this.#run.inputs[index];
      if (input === undefined) continue;
      if (record !== undefined) this.#outcomes.push(recordOutcome(index, record, input));
      else if (refusal !== undefined)
        this.#outcomes.push({ index, status: 'error', ...burnError(input, refusal) });
    }
  }

  #announce(): void {
    const { onElement } = this.#run.call;
    for (; this.#announced < this.#outcomes.length; this.#announced += 1) {
      const outcome = this.#outcomes[this.#announced];
      if (outcome !== undefined) onElement?.(outcome);
    }
  }
}

type FinishedBurn = Pick<
  BurnRecord,
  'status' | 'proofHash' | 'signature' | 'errorCode' | 'errorMessage' | 'dateSettled'
>;

function recordOutcome(index: number, record: FinishedBurn, input: PreparedBurn['request']): ElementOutcome {
  if (record.status === 'SUCCESS') {
    return {
      index,
      status: 'success',
      result: 'SUCCESS',
      hash: record.proofHash,
      txHash: record.signature,
      type: input.type,
      dateBurned: record.dateSettled ?? '',
    };
  }
  const message = record.errorMessage ?? 'The burn failed.';
  const type = record.errorCode ?? 'ERR_BURN_TOKENOMICS_FAILED';
  return { index, status: 'error', message, type, proof: input.proof, proofType: input.type };
}
