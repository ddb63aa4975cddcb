/**
 * Runs one phase of a batch: its transactions, in bundles, through intent, submit and outcome, in order, resumable after the
 * last one that landed. What the transactions do is decided elsewhere.
 */
import {
  MAX_BUNDLE_TRANSACTIONS,
  type RecentBlockhash,
  type Rejection,
  type TransactionRecord,
} from '../../chain/chain.js';
import { compileLegacyMessage, signTransaction } from '../../chain/transaction/compile.js';
import { describeTransactionError } from '../../chain/transaction/program-errors.js';
import type { BundleExecution } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BundleRecord, BundleStatus } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { EngineDeps } from '../deps.js';
import { hasExpired, isExpiry } from '../expiry.js';
import { bundleId, type PhaseFailure, type PhaseInput, type PhaseResult } from './phase.js';

/** Bundles whose intents share one store transaction; each lands in a block, well within a blockhash's 150. */
const WINDOW_BUNDLES = 32;
/** Times that bundles are signed anew in one run before they are left to the next one. */
const MAX_RENEWALS = 20;

/**
 * Runs the transactions that have not run yet and stops at the first bundle that is refused.
 * @throws `ERR_UNAVAILABLE` when the chain does not tell what became of a bundle; running the phase again finds it.
 */
export async function runPhase(deps: EngineDeps, input: PhaseInput): Promise<PhaseResult> {
  const phase = new Phase(deps, input);
  await phase.resolveStored();
  if (input.isOver !== true) await phase.runRest();
  return phase.result();
}

interface Settlement {
  readonly bundle: BundleRecord;
  /** Of the block in which it landed. */
  readonly blockTimeMs?: number;
  readonly status: BundleStatus;
  readonly errorMessage?: string;
  readonly failedTransaction?: number;
}

class Phase {
  readonly #deps: EngineDeps;
  readonly #input: PhaseInput;
  /** Index within the phase after the last transaction. */
  readonly #end: number;
  readonly #landed: BundleExecution[] = [];
  readonly #ours = new Set<number>();
  readonly #foreign: number[] = [];
  /** Bundles that may still land, by the index of their first transaction. */
  readonly #pending = new Map<number, BundleRecord>();
  #next: number;
  #unsaved: Settlement[] = [];
  #unsavedFees = 0n;
  #failure: PhaseFailure | null = null;
  #begun = false;

  constructor(deps: EngineDeps, input: PhaseInput) {
    this.#deps = deps;
    this.#input = input;
    this.#next = input.offset ?? 0;
    this.#end = this.#next + input.transactions.length;
  }

  /** Takes over what an earlier run has stored: landed bundles, and pending ones that may have landed. */
  async resolveStored(): Promise<void> {
    const mine = [...this.#input.stored].sort((a, b) => a.first - b.first);
    const pending = mine.filter(({ status }) => status === 'PENDING');
    // This comes first: what is not found once it has expired can never land.
    const expiredHeight = pending.length === 0 ? 0n : await this.#deps.chain.expiredHeight();
    const records = await this.#lookUp(pending);
    for (const bundle of mine) {
      const found = records.get(bundle);
      if (bundle.status === 'LANDED') this.#take(bundle);
      else if (bundle.status !== 'PENDING') continue;
      else if (found !== undefined) this.#takeRecords(bundle, found);
      else if (this.#input.isOver === true || hasExpired(bundle.lastValidBlockHeight, expiredHeight))
        this.#unsaved.push({ bundle, status: 'EXPIRED' });
      else if (this.#isMine(bundle)) this.#pending.set(bundle.first, bundle);
    }
    if (this.#pending.size === 0) await this.#passForeign();
  }

  async runRest(): Promise<void> {
    let renewals = 0;
    while (this.#next < this.#end) {
      if (this.#failure !== null && !(await this.#passForeign())) return;
      const before = this.#next;
      if (this.#input.signal?.aborted === true) await this.#deps.store.transaction((tx) => this.#settle(tx));
      this.#input.signal?.throwIfAborted();
      await this.#runWindow();
      if (this.#next === before && this.#failure === null) renewals += 1;
      if (renewals > MAX_RENEWALS) {
        throw new FlywheelError(
          'ERR_UNAVAILABLE',
          'The chain keeps refusing the blockhashes that it gives out.',
        );
      }
    }
  }

  result(): PhaseResult {
    return {
      landed: this.#landed,
      next: this.#next,
      foreign: this.#foreign,
      failure: this.#failure,
      settle: (tx) => this.#settle(tx),
    };
  }

  /** Goes on from where the chain stands, when others have gone on meanwhile; what failed for that reason has not failed. */
  async #passForeign(): Promise<boolean> {
    const position = (await this.#input.position?.()) ?? this.#next;
    if (position <= this.#next) return false;
    for (let index = this.#next; index < Math.min(position, this.#end); index += 1) {
      if (!this.#ours.has(index)) this.#foreign.push(index);
    }
    this.#next = position;
    this.#failure = null;
    return true;
  }

  async #runWindow(): Promise<void> {
    const { chain, store } = this.#deps;
    const recent = await chain.latestBlockhash();
    const window: BundleRecord[] = [];
    const fresh: BundleRecord[] = [];
    for (let index = this.#next; index < this.#end && window.length < WINDOW_BUNDLES; ) {
      const known = this.#pending.get(index) ?? this.#twin(index, recent);
      const bundle = known ?? this.#sign(index, recent);
      if (this.#repeatsRefusal(bundle, window.length === 0)) break;
      if (known === undefined) fresh.push(bundle);
      window.push(bundle);
      index += bundle.transactions.length;
    }
    if (window.length === 0) return;
    await store.transaction(async (tx) => {
      await this.#settle(tx);
      if (!this.#begun) await this.#input.before?.(tx);
      await this.#input.renewLease(tx);
      if (fresh.length > 0) await tx.bundles.insertMany(fresh);
    });
    this.#begun = true;
    for (const bundle of window) this.#pending.set(bundle.first, bundle);
    const receipt = await chain.submitBundles(
      window.map(({ transactions }) => transactions.map(({ bytes }) => bytes)),
    );
    await this.#readReceipt(window, receipt);
  }

  /** The very bytes that an earlier run saw refused, with no block since, would be refused again. */
  #repeatsRefusal({ bundleId: id }: BundleRecord, isNext: boolean): boolean {
    const refused = this.#input.stored.find((bundle) => bundle.status === 'FAILED' && bundle.bundleId === id);
    if (refused === undefined) return false;
    if (isNext)
      this.#failure = failureOf(refused, refused.failedTransaction ?? 0, refused.errorMessage ?? '');
    return true;
  }

  async #readReceipt(window: readonly BundleRecord[], receipt: readonly (Rejection | null)[]): Promise<void> {
    const rejectedAt = receipt.findIndex((entry) => entry !== null);
    const accepted = window.slice(0, rejectedAt === -1 ? receipt.length : rejectedAt);
    const records = await this.#lookUp(accepted);
    for (const bundle of accepted) {
      const found = records.get(bundle);
      if (found === undefined) {
        throw new FlywheelError(
          'ERR_UNAVAILABLE',
          `The chain has not told yet what became of bundle ${bundle.bundleId}.`,
        );
      }
      this.#takeRecords(bundle, found);
      if (this.#failure !== null) return;
    }
    const rejection = receipt[rejectedAt];
    const bundle = window[rejectedAt];
    if (rejection != null && bundle !== undefined) await this.#takeRejected(bundle, rejection);
  }

  async #takeRejected(bundle: BundleRecord, rejection: Rejection): Promise<void> {
    if (
      isExpiry(rejection) &&
      hasExpired(bundle.lastValidBlockHeight, await this.#deps.chain.expiredHeight())
    ) {
      // Signed anew in the next window, and with it all that was signed with the same blockhash.
      for (const pending of this.#pending.values())
        this.#unsaved.push({ bundle: pending, status: 'EXPIRED' });
      this.#pending.clear();
      return;
    }
    this.#fail(bundle, rejection.index, describeTransactionError(rejection.error, rejection.logs));
  }

  /** @param records - of the transactions that have landed, which are all of them where bundles land whole. */
  #takeRecords(bundle: BundleRecord, records: readonly TransactionRecord[]): void {
    this.#unsavedFees += records.reduce((sum, { feeLamports }) => sum + feeLamports, 0n);
    const failed = records.findIndex(({ error }) => error !== null);
    const error = records[failed]?.error ?? null;
    if (error !== null) {
      this.#fail(bundle, failed, describeTransactionError(error, records[failed]?.logs ?? []));
    } else if (records.length < bundle.transactions.length) {
      this.#fail(
        bundle,
        records.length,
        'the bundle was taken apart, and only the transactions before it landed',
      );
    } else {
      this.#unsaved.push({ bundle, status: 'LANDED', blockTimeMs: records[0]?.blockTimeMs ?? 0 });
      this.#take(bundle);
    }
  }

  #isMine({ first }: BundleRecord): boolean {
    return first >= (this.#input.offset ?? 0) && first < this.#end;
  }

  /** Counts a landed bundle; it may be one of the phase that another list of transactions was about. */
  #take(bundle: BundleRecord): void {
    this.#pending.delete(bundle.first);
    if (!this.#isMine(bundle)) return;
    const { first, transactions } = bundle;
    this.#landed.push({
      bundleId: bundle.bundleId,
      txHashes: transactions.map(({ signature }) => signature),
    });
    for (let index = first; index < first + transactions.length; index += 1) this.#ours.add(index);
    if (first === this.#next) this.#next += transactions.length;
  }

  #fail(bundle: BundleRecord, failedTransaction: number, reason: string): void {
    this.#pending.delete(bundle.first);
    this.#unsaved.push({ bundle, status: 'FAILED', errorMessage: reason, failedTransaction });
    if (this.#isMine(bundle)) this.#failure = failureOf(bundle, failedTransaction, reason);
  }

  async #settle(tx: StoreTransaction): Promise<void> {
    for (const { bundle, blockTimeMs, ...outcome } of this.#unsaved) {
      await tx.bundles.settle(bundle.id, outcome);
      if (blockTimeMs !== undefined) await this.#input.landed?.(tx, bundle, blockTimeMs);
    }
    if (this.#unsavedFees > 0n) {
      await tx.batches.addCost(this.#input.batchId, {
        feeLamports: this.#unsavedFees,
        rentPaidLamports: 0n,
        rentReclaimedLamports: 0n,
      });
    }
    this.#unsaved = [];
    this.#unsavedFees = 0n;
  }

  #sign(first: number, { blockhash, lastValidBlockHeight }: RecentBlockhash): BundleRecord {
    const { batchId, phase, signer, transactions: all, offset = 0 } = this.#input;
    const from = first - offset;
    const transactions = all
      .slice(from, from + MAX_BUNDLE_TRANSACTIONS)
      .map((instructions) =>
        signTransaction(compileLegacyMessage({ payer: signer.address, instructions, blockhash }), [signer]),
      );
    return {
      id: this.#deps.ids.uuid(),
      batchId,
      phase,
      first,
      bundleId: bundleId(transactions.map(({ signature }) => signature)),
      transactions,
      lastValidBlockHeight,
      status: 'PENDING',
      errorMessage: null,
      failedTransaction: null,
    };
  }

  /** The same step as an earlier run has signed it, if these would be the very same bytes. */
  #twin(first: number, recent: RecentBlockhash): BundleRecord | undefined {
    const waiting = this.#input.stored.filter(({ status }) => status === 'PENDING');
    if (waiting.length === 0) return undefined;
    const { bundleId: id } = this.#sign(first, recent);
    const twin = waiting.find((bundle) => bundle.bundleId === id);
    return twin && { ...twin, first };
  }

  /** What has landed of bundles, up to the first transaction that has not; none is listed of which nothing has. */
  async #lookUp(
    bundles: readonly BundleRecord[],
  ): Promise<ReadonlyMap<BundleRecord, readonly TransactionRecord[]>> {
    const found = new Map<BundleRecord, readonly TransactionRecord[]>();
    const signatures = bundles.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));
    if (signatures.length === 0) return found;
    const records = await this.#deps.chain.lookUp(signatures);
    let from = 0;
    for (const bundle of bundles) {
      const own = records.slice(from, from + bundle.transactions.length);
      from += bundle.transactions.length;
      const end = own.indexOf(null);
      const landed = (end < 0 ? own : own.slice(0, end)).filter((record) => record !== null);
      if (landed.length > 0) found.set(bundle, landed);
    }
    return found;
  }
}

function failureOf(bundle: BundleRecord, failedTransaction: number, reason: string): PhaseFailure {
  const at = bundle.first + failedTransaction;
  return {
    failedTransaction: at,
    firstTransaction: bundle.first,
    message: `Transaction ${at} failed: ${reason}.`,
  };
}
