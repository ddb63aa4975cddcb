/** The response headers that tell of limits, replays, deprecation and cost. */

import type { ReplyMeta } from '../contract/call.js';
import { encodeBatchCost, encodeRateLimit, encodeRateLimitPolicy } from '../contract/header-values.js';
import {
  BATCH_COST_HEADER,
  IDEMPOTENT_REPLAYED_HEADER,
  RATE_LIMIT_HEADER,
  RATE_LIMIT_POLICY_HEADER,
} from '../contract/headers.js';
import type { Operation, RateLimit } from '../contract/operations.js';
import { SUCCESSOR } from '../contract/operations.js';
import type { RateDecision } from './rate-limiter.js';

/** When the two burn operations were deprecated, 2026-01-01 in Unix seconds (RFC 9745). */
const DEPRECATED_SINCE = '@1767225600';

/** Headers that every answer of an operation carries. */
export function operationHeaders(operation: Operation, basePath: string): Readonly<Record<string, string>> {
  if (!operation.deprecated) return {};
  return {
    deprecation: DEPRECATED_SINCE,
    link: `<${basePath}${SUCCESSOR.path}>; rel="successor-version", <${basePath}/docs>; rel="deprecation"; type="text/html"`,
  };
}

/** The limit and what is left of it; a request without a key has used nothing. */
export function rateLimitHeaders(
  limit: RateLimit,
  decision?: RateDecision,
): Readonly<Record<string, string>> {
  return {
    [RATE_LIMIT_POLICY_HEADER]: encodeRateLimitPolicy(limit),
    [RATE_LIMIT_HEADER]: encodeRateLimit({
      policy: limit.name,
      remaining: decision?.remaining ?? limit.points,
      resetSeconds: decision?.resetSeconds ?? limit.windowSeconds,
    }),
  };
}

/** What came of the call. */
export function metaHeaders(meta: ReplyMeta): Readonly<Record<string, string>> {
  return {
    ...(meta.replayed ? { [IDEMPOTENT_REPLAYED_HEADER]: 'true' } : {}),
    ...(meta.cost === undefined ? {} : { [BATCH_COST_HEADER]: encodeBatchCost(meta.cost) }),
  };
}
