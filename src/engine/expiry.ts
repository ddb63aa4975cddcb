/** When a signed transaction can never land any more; only then may what it was for be signed anew. */
import type { Rejection } from '../chain/chain.js';

/** Did the chain refuse because it does not know the blockhash, or no longer? */
export const isExpiry = (rejection: Rejection): boolean =>
  rejection.error.kind === 'transaction' && rejection.error.error === 'BlockhashNotFound';

/**
 * Can nothing with this blockhash land any more? The block at `height` is there, so the next one comes after the last
 * valid; what is looked up after the height was read, and not found, never lands.
 */
export const hasExpired = (lastValidBlockHeight: bigint, height: bigint): boolean =>
  lastValidBlockHeight <= height;
