/** Priority fees: the price follows recent fees of the cluster and never exceeds the user's limit. */
import type { Clock } from '../../values/time.js';
import type { PriorityFees } from '../chain.js';
import type { NodePool } from './node-pool.js';
import * as questions from './questions.js';

const PRICE_FOR_MS = 10_000;
const PERCENTILE = 0.75;
/** Price without any answer: 200 lamports for the 20,000 compute units of a burn. */
const DEFAULT_MICRO_LAMPORTS = 10_000n;
const MAX_PRICES = 64;

function percentile(values: readonly bigint[], part: number): bigint | undefined {
  const sorted = [...values].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0));
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];
}

/** Prices come from one node; a false price is bounded by the user's limit. */
export function createRecentFees(pool: NodePool, clock: Clock, maxLamports: bigint): PriorityFees {
  const prices = new Map<string, { readonly microLamports: bigint; readonly askedMs: number }>();
  let lastMicroLamports = DEFAULT_MICRO_LAMPORTS;
  return {
    maxLamports,
    async priceOf(written) {
      if (maxLamports === 0n) return 0n;
      const accounts = [...new Set(written)].sort();
      const known = prices.get(accounts.join());
      if (known !== undefined && clock.nowMs() - known.askedMs < PRICE_FOR_MS) return known.microLamports;
      // Not every node supports the method. A transaction without a good price may be late; an unsent one never lands.
      const told = (await pool.maybe(questions.recentFees(accounts))) ?? [];
      const microLamports = percentile(told, PERCENTILE) ?? (known?.microLamports || lastMicroLamports);
      lastMicroLamports = microLamports || lastMicroLamports;
      if (prices.size >= MAX_PRICES) prices.clear();
      prices.set(accounts.join(), { microLamports, askedMs: clock.nowMs() });
      return microLamports;
    },
    async computeUnitsOf(message) {
      // With too few units a transaction fails, so no node of a quorum alone says how many.
      const tried = await pool.maybe(questions.trial(message), pool.quorum);
      return tried?.refusal === null ? tried.computeUnits : null;
    },
  };
}
