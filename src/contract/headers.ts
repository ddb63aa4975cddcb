/** Header names, and the formats and rules of their values. */
import { FlywheelError } from '../errors/flywheel-error.js';
import { isUuid } from '../values/ids.js';
import type { BatchCost } from './call.js';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from './limits.js';
import type { RateLimit } from './operations.js';

/** Default name; client and server can be configured with another (contract, section 1.1). */
export const API_KEY_HEADER = 'x-service-api-key';
export const IDEMPOTENCY_KEY_HEADER = 'x-idempotency-key';
export const REQUEST_ID_HEADER = 'x-request-id';
export const IDEMPOTENT_REPLAYED_HEADER = 'idempotent-replayed';
/** `true` on a refusal: the service has no request with this key, neither finished nor running. */
export const IDEMPOTENCY_KEY_UNUSED_HEADER = 'idempotency-key-unused';
export const RATE_LIMIT_POLICY_HEADER = 'ratelimit-policy';
export const RATE_LIMIT_HEADER = 'ratelimit';
export const RETRY_AFTER_HEADER = 'retry-after';
export const BATCH_COST_HEADER = 'x-batch-cost';

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

export const isIdempotencyKey = (text: string): boolean =>
  text.length <= MAX_IDEMPOTENCY_KEY_LENGTH && VISIBLE_ASCII.test(text);

/** @throws `ERR_INVALID_REQUEST` when a required idempotency key is missing, or a key is malformed. */
export function checkIdempotencyKey(
  key: string | undefined,
  rule: 'uuid' | 'optional' | 'none',
): string | undefined {
  if (rule === 'none' || (rule === 'optional' && key === undefined)) return undefined;
  const isUuidOnly = rule === 'uuid';
  if (key !== undefined && (isUuidOnly ? isUuid(key) : isIdempotencyKey(key))) return normalKey(key);
  const form = isUuidOnly ? 'a UUID' : `1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters`;
  const problem = key === undefined ? `is required: ${form}` : `must be ${form}`;
  throw new FlywheelError('ERR_INVALID_REQUEST', `The header ${IDEMPOTENCY_KEY_HEADER} ${problem}.`);
}

/** UUIDs are case-insensitive. */
export const normalKey = (key: string): string => (isUuid(key) ? key.toLowerCase() : key);

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
