/**
 * Runs one phase of a batch: a list of bundles through intent, submit and outcome, in order, resumable after the last one
 * that landed. What the bundles do is decided elsewhere.
 */
import type { Rejection, TransactionRecord } from '../../chain/chain.js';
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
 * Runs the bundles that have not landed yet and stops at the first that is refused.
 * @throws `ERR_UNAVAILABLE` when the chain does not tell what became of a bundle; running the phase again finds it.
 */
export async function runPhase(deps: EngineDeps, input: PhaseInput): Promise<PhaseResult> {
  const phase = new Phase(deps, input);
  await phase.resolveStored();
  await phase.runRest();
  return phase.result();
}

interface Settlement {
  readonly id: string;
  readonly status: BundleStatus;
  readonly errorMessage?: string;
  readonly failedTransaction?: number;
}

class Phase {
  readonly #deps: EngineDeps;
  readonly #input: PhaseInput;
  readonly #firstTransactions: readonly number[];
  readonly #landed: BundleExecution[] = [];
  readonly #pending = new Map<number, BundleRecord>();
  #landedTransactions = 0;
  #next = 0;
  #unsaved: Settlement[] = [];
  #unsavedFees = 0n;
  #fees = 0n;
  #failure: PhaseFailure | null = null;
  #begun = false;

  constructor(deps: EngineDeps, input: PhaseInput) {
    this.#deps = deps;
    this.#input = input;
    let first = input.firstTransaction ?? 0;
    this.#firstTransactions = input.drafts.map((draft) => {
      const own = first;
      first += draft.length;
      return own;
    });
  }

  /** Takes over what an earlier run has stored: landed bundles, and pending ones that may have landed. */
  async resolveStored(): Promise<void> {
    const mine = this.#input.stored
      .filter(
        ({ ordinal, status }) =>
          this.#draftIndex(ordinal) !== undefined && (status === 'LANDED' || status === 'PENDING'),
      )
      .sort((a, b) => a.ordinal - b.ordinal);
    for (const bundle of mine) {
      if (bundle.status === 'LANDED') this.#take(bundle);
    }
    const pending = mine.filter(({ status }) => status === 'PENDING');
    if (pending.length === 0) return;
    // The height comes first: what is not found once its last block is there can never land.
    const height = await this.#deps.chain.blockHeight();
    const records = await this.#lookUp(pending);
    for (const [position, bundle] of pending.entries()) {
      const record = records[position];
      if (record != null) this.#takeLanded(bundle, record);
      else if (hasExpired(bundle.lastValidBlockHeight, height))
        this.#unsaved.push({ id: bundle.id, status: 'EXPIRED' });
      else this.#pending.set(bundle.ordinal, bundle);
    }
  }

  async runRest(): Promise<void> {
    let renewals = 0;
    while (this.#failure === null && this.#next < this.#input.drafts.length) {
      const before = this.#next;
      if (this.#input.signal?.aborted === true) await this.#deps.store.transaction((tx) => this.#settle(tx));
      this.#input.signal?.throwIfAborted();
      await this.#runWindow();
      if (this.#next === before) renewals += 1;
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
      landedTransactions: this.#landedTransactions,
      failure: this.#failure,
      feeLamports: this.#fees,
      settle: (tx) => this.#settle(tx),
    };
  }

  async #runWindow(): Promise<void> {
    const { chain, store } = this.#deps;
    const recent = await chain.latestBlockhash();
    const window: BundleRecord[] = [];
    const fresh: BundleRecord[] = [];
    for (
      let index = this.#next;
      index < this.#input.drafts.length && window.length < WINDOW_BUNDLES;
      index += 1
    ) {
      const known = this.#pending.get(this.#ordinal(index));
      const bundle = known ?? this.#sign(index, recent);
      if (this.#repeatsRefusal(bundle, window.length === 0)) break;
      if (known === undefined) fresh.push(bundle);
      window.push(bundle);
    }
    if (window.length === 0) return;
    await store.transaction(async (tx) => {
      await this.#settle(tx);
      if (!this.#begun) await this.#input.before?.(tx);
      await this.#input.renewLease(tx);
      if (fresh.length > 0) await tx.bundles.insertMany(fresh);
    });
    this.#begun = true;
    for (const bundle of window) this.#pending.set(bundle.ordinal, bundle);
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
    for (const [position, bundle] of accepted.entries()) {
      const record = records[position];
      if (record == null) {
        throw new FlywheelError(
          'ERR_UNAVAILABLE',
          `The chain has not told yet what became of bundle ${bundle.bundleId}.`,
        );
      }
      this.#takeLanded(bundle, record);
      if (this.#failure !== null) return;
    }
    const rejection = receipt[rejectedAt];
    const bundle = window[rejectedAt];
    if (rejection != null && bundle !== undefined) await this.#takeRejected(bundle, rejection);
  }

  async #takeRejected(bundle: BundleRecord, rejection: Rejection): Promise<void> {
    if (
      isExpiry(rejection) &&
      hasExpired(bundle.lastValidBlockHeight, await this.#deps.chain.blockHeight())
    ) {
      // Signed anew in the next window, and with it all that was signed with the same blockhash.
      for (const pending of this.#pending.values()) this.#unsaved.push({ id: pending.id, status: 'EXPIRED' });
      this.#pending.clear();
      return;
    }
    this.#fail(bundle, rejection.index, describeTransactionError(rejection.error, rejection.logs));
  }

  #takeLanded(bundle: BundleRecord, record: TransactionRecord): void {
    const fee = record.feeLamports * BigInt(bundle.transactions.length);
    this.#fees += fee;
    this.#unsavedFees += fee;
    if (record.error !== null) {
      this.#fail(bundle, 0, describeTransactionError(record.error, record.logs));
      return;
    }
    this.#unsaved.push({ id: bundle.id, status: 'LANDED' });
    this.#take(bundle);
  }

  #take(bundle: BundleRecord): void {
    this.#pending.delete(bundle.ordinal);
    this.#landed.push({
      bundleId: bundle.bundleId,
      txHashes: bundle.transactions.map(({ signature }) => signature),
    });
    this.#landedTransactions += bundle.transactions.length;
    this.#next += 1;
  }

  #fail(bundle: BundleRecord, failedTransaction: number, reason: string): void {
    this.#pending.delete(bundle.ordinal);
    this.#unsaved.push({ id: bundle.id, status: 'FAILED', errorMessage: reason, failedTransaction });
    this.#failure = failureOf(bundle, failedTransaction, reason);
  }

  async #settle(tx: StoreTransaction): Promise<void> {
    for (const { id, ...outcome } of this.#unsaved) await tx.bundles.settle(id, outcome);
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

  #sign(
    index: number,
    recent: { readonly blockhash: string; readonly lastValidBlockHeight: bigint },
  ): BundleRecord {
    const { batchId, phase, signer, drafts } = this.#input;
    const transactions = (drafts[index] ?? []).map((instructions) => {
      const message = compileLegacyMessage({
        payer: signer.address,
        instructions,
        blockhash: recent.blockhash,
      });
      return signTransaction(message, [signer]);
    });
    return {
      id: this.#deps.ids.uuid(),
      batchId,
      phase,
      ordinal: this.#ordinal(index),
      firstTransaction: this.#firstTransactions[index] ?? 0,
      bundleId: bundleId(transactions.map(({ signature }) => signature)),
      transactions,
      lastValidBlockHeight: recent.lastValidBlockHeight,
      status: 'PENDING',
      errorMessage: null,
      failedTransaction: null,
    };
  }

  /** A bundle lands whole, so its first transaction tells of all. */
  #lookUp(bundles: readonly BundleRecord[]): Promise<readonly (TransactionRecord | null)[]> {
    return this.#deps.chain.lookUp(bundles.map(({ transactions }) => transactions[0]?.signature ?? ''));
  }

  #ordinal(index: number): number {
    return (this.#input.firstOrdinal ?? 0) + index;
  }

  #draftIndex(ordinal: number): number | undefined {
    const index = ordinal - (this.#input.firstOrdinal ?? 0);
    return index >= 0 && index < this.#input.drafts.length ? index : undefined;
  }
}

function failureOf(bundle: BundleRecord, failedTransaction: number, reason: string): PhaseFailure {
  const at = bundle.firstTransaction + failedTransaction;
  return {
    failedTransaction: at,
    firstTransaction: bundle.firstTransaction,
    message: `Transaction ${at} failed: ${reason}.`,
  };
}
