/** What is paid for a place in a block beyond the signatures, on chains where it is. */
import type { Address } from '../values/address.js';

/** What a place in a block costs beside the signatures, where others want it too. */
export interface PriorityFees {
  /** Lamports that one transaction pays for it at most. */
  readonly maxLamports: bigint;

  /** Micro-lamports that those who wrote these accounts have paid for a compute unit of late; where nobody says, the last that was told, or a low one. */
  priceOf(written: readonly Address[]): Promise<bigint>;

  /**
   * Compute units that a message would use now.
   * @param message - signatures are not looked at, nor how old its blockhash is.
   * @returns `null` where it would fail, or the chain does not say.
   */
  computeUnitsOf(message: Uint8Array): Promise<number | null>;
}
