/** How transactions are sent to a cluster, as profiles and data directories keep it; what is taken is decided where it is read. */

export interface StoredSending {
  /** Lamports that a transaction pays beyond its signatures at most. */
  readonly maxPriorityFee?: number;
  /** When a transaction counts as landed. */
  readonly commitment?: string;
}
