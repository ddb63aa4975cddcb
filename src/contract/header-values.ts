/** Text of the headers that carry more than a word: rate limits (IETF draft form) and the cost of a batch. */
import type { BatchCost, RateLimitState } from './call.js';
import type { RateLimit } from './operations.js';

/** `"burn";q=10;w=1`: quota and window in seconds (draft-ietf-httpapi-ratelimit-headers-09, section 3). */
export const encodeRateLimitPolicy = (limit: RateLimit): string =>
  `"${limit.name}";q=${limit.points};w=${limit.windowSeconds}`;

/** `"burn";r=9;t=1`: what remains, and the seconds until it is whole again (same draft, section 4). */
export const encodeRateLimit = (state: RateLimitState): string =>
  `"${state.policy}";r=${state.remaining};t=${state.resetSeconds}`;

const RATE_LIMIT_MEMBER =
  /^\s*(?:"([^"\\]{0,200})"|([A-Za-z*][\w.*/:-]{0,199}))((?:\s*;\s*[a-z][a-z0-9_-]*(?:=[^;,\s]+)?)*)\s*$/;

function parameter(parameters: string, name: string): number | undefined {
  const found = new RegExp(`;\\s*${name}=(\\d{1,12})(?![\\d.])`).exec(parameters);
  return found?.[1] === undefined ? undefined : Number(found[1]);
}

/** The tightest member of a `RateLimit` header, or `undefined` when none can be read. */
export function decodeRateLimit(header: string): RateLimitState | undefined {
  let tightest: RateLimitState | undefined;
  for (const member of header.slice(0, 4_096).split(',')) {
    const [, quoted, token, parameters = ''] = RATE_LIMIT_MEMBER.exec(member) ?? [];
    const remaining = parameter(parameters, 'r');
    if (remaining === undefined) continue;
    const state = {
      policy: quoted ?? token ?? '',
      remaining,
      resetSeconds: parameter(parameters, 't') ?? 0,
    };
    if (tightest === undefined || remaining < tightest.remaining) tightest = state;
  }
  return tightest;
}

/** `operator=10000;vault=2039280`, in lamports; below 0 for who has got some. */
export const encodeBatchCost = ({ operatorLamports, vaultLamports }: BatchCost): string =>
  `operator=${operatorLamports};vault=${vaultLamports}`;

const BATCH_COST = /^operator=(-?\d{1,20});vault=(-?\d{1,20})$/;

/** The reverse of {@link encodeBatchCost}; `undefined` for anything else. */
export function decodeBatchCost(header: string): BatchCost | undefined {
  const [, operator, vault] = BATCH_COST.exec(header) ?? [];
  if (operator === undefined || vault === undefined) return undefined;
  return { operatorLamports: BigInt(operator), vaultLamports: BigInt(vault) };
}
