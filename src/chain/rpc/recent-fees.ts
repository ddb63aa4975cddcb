/** What a cluster is paid beyond the signatures: from what others have paid of late, and never more than the user allows. */
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Clock } from '../../values/time.js';
import type { PriorityFees } from '../chain.js';
import { unsigned } from '../transaction/wire.js';
import type { NodePool } from './node-pool.js';
import { recentFeesQuestion, trialQuestion } from './questions.js';

/** How long a price is good for. */
const PRICE_FOR_MS = 10_000;
/** The price that this part of the last blocks could be had for. */
const PERCENTILE = 0.75;
/** The price where no node has told any: 200 lamports for the 20,000 units of a burn. */
const DEFAULT_MICRO_LAMPORTS = 10_000n;
/** Sets of accounts whose prices are remembered. */
const MAX_PRICES = 64;

interface Price {
  readonly microLamports: bigint;
  readonly askedMs: number;
}

/** The value that is no less than this part of the others; `undefined` of none. */
function percentile(values: readonly bigint[], part: number): bigint | undefined {
  const sorted = [...values].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0));
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];
}

/** What nobody tells is done without. @throws what is no failure of a node */
export function toNull(error: unknown): null {
  if (isFlywheelError(error) && error.code !== 'ERR_INTERRUPTED') return null;
  throw error;
}

/** The prices that nodes tell. One node is enough: what it makes up is bounded all the same. */
export class RecentFees implements PriorityFees {
  readonly maxLamports: bigint;
  readonly #pool: NodePool;
  readonly #clock: Clock;
  readonly #prices = new Map<string, Price>();
  /** The last that was told and is not 0, of whichever accounts. */
  #lastMicroLamports = DEFAULT_MICRO_LAMPORTS;

  constructor(pool: NodePool, clock: Clock, maxLamports: bigint) {
    this.#pool = pool;
    this.#clock = clock;
    this.maxLamports = maxLamports;
  }

  async priceOf(written: readonly Address[]): Promise<bigint> {
    if (this.maxLamports === 0n) return 0n;
    const accounts = [...new Set(written)].sort();
    const known = this.#prices.get(accounts.join());
    if (known !== undefined && this.#clock.nowMs() - known.askedMs < PRICE_FOR_MS) return known.microLamports;
    // Not every node tells; without a price a transaction may be late, and without being sent it never lands.
    const told = (await this.#pool.one(recentFeesQuestion(accounts)).catch(toNull)) ?? [];
    const microLamports = percentile(told, PERCENTILE) ?? (known?.microLamports || this.#lastMicroLamports);
    this.#lastMicroLamports = microLamports || this.#lastMicroLamports;
    if (this.#prices.size >= MAX_PRICES) this.#prices.clear();
    this.#prices.set(accounts.join(), { microLamports, askedMs: this.#clock.nowMs() });
    return microLamports;
  }

  async computeUnitsOf(message: Uint8Array): Promise<number | null> {
    const trial = trialQuestion(unsigned(message));
    const tried = await this.#pool.one({ ...trial, isOptional: true }).catch(toNull);
    return tried?.refusal === null ? tried.computeUnits : null;
  }
}
