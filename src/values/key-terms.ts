/** What keys and lists are held to, for who reads no shapes: to make those takes longer than all else of a short command. */

/** Characters of a proof type at most. */
export const MAX_PROOF_TYPE_LENGTH = 64;

/** Proofs that a list is asked for at once; more do not fit into the address of every proxy. */
export const MAX_HASHES_ASKED = 50;

/** What a key may be for (service specification, section 5). */
export const SCOPES = ['burn', 'airdrop'] as const;
export type Scope = (typeof SCOPES)[number];
