/** Limits of keys and lists in a module without zod: creating schemas takes longer than the rest of a short command. */

export const MAX_PROOF_TYPE_LENGTH = 64;

/** Hashes per list request; more exceed the URL limit of some proxies. */
export const MAX_HASHES_ASKED = 50;

/** Scopes of an API key (service specification, section 5). */
export const SCOPES = ['burn', 'airdrop'] as const;
export type Scope = (typeof SCOPES)[number];
