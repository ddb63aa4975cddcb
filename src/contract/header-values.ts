/** Formats of structured headers: rate limits (IETF draft) and the cost of a batch. */
import type { BatchCost } from './call.js';
import type { RateLimit } from './operations.js';

/** `"burn";q=10;w=1`: quota and window in seconds (draft-ietf-httpapi-ratelimit-headers-09, section 3). */
export const encodeRateLimitPolicy = (limit: RateLimit): string =>
  `"${limit.name}";q=${limit.points};w=${limit.windowSeconds}`;

/** `"burn";r=9;t=1`: remaining requests, and seconds until the full quota is available (same draft, section 4). */
export const encodeRateLimit = (policy: string, remaining: number, resetSeconds: number): string =>
  `"${policy}";r=${remaining};t=${resetSeconds}`;

/** `operator=10000;vault=2039280`, in lamports; negative for a net gain. */
export const encodeBatchCost = ({ operatorLamports, vaultLamports }: BatchCost): string =>
  `operator=${operatorLamports};vault=${vaultLamports}`;

const BATCH_COST = /^operator=(-?\d{1,20});vault=(-?\d{1,20})$/;

export function decodeBatchCost(header: string): BatchCost | undefined {
  const [, operator, vault] = BATCH_COST.exec(header) ?? [];
  if (operator === undefined || vault === undefined) return undefined;
  return { operatorLamports: BigInt(operator), vaultLamports: BigInt(vault) };
}
