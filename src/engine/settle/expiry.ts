/** When a signed transaction can never land any more; only then may what it was for be signed once more. */
import type { Rejection } from '../../chain/chain.js';

/** Did the chain refuse because it does not know the blockhash, or no longer? */
export const isExpiry = (rejection: Rejection): boolean =>
  rejection.error.kind === 'transaction' && rejection.error.error === 'BlockhashNotFound';

/**
 * Can nothing with this blockhash land any more? What is looked up after the chain was asked what has expired, and is not
 * found, never lands.
 *
 * @param expiredHeight - as the chain says; the height of its newest block proves nothing.
 */
export const hasExpired = (lastValidBlockHeight: bigint, expiredHeight: bigint): boolean =>
  lastValidBlockHeight <= expiredHeight;
