/** What a proof type is held to wherever it is read. */

/** Characters of a proof type at most. */
export const MAX_PROOF_TYPE_LENGTH = 64;
