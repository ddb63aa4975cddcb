/** Dependencies of the engine (store, chain, keys, clock, ids), and its in-memory state. */
import type { Chain } from '../chain/chain.js';
import type { Signer } from '../chain/transaction/sign.js';
import * as limits from '../contract/limits.js';
import type { Store } from '../store/store.js';
import type { Address } from '../values/address.js';
import type { Ids } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import type { EngineEvent } from './events.js';
import type { GapWatch } from './gap-watch.js';
import type { Leases } from './lease.js';

type KeyRole = 'operator' | 'burn wallet' | 'treasury';

/** A created key is durable before `create` returns. */
export interface Keyring {
  /** @throws `ERR_STORE_UNAVAILABLE` when there is no key for the address, `ERR_KEYPAIR_INVALID` when another key was given. */
  get(address: Address, role: KeyRole): Signer;
  create(): Signer;
}

export const DEFAULT_LIMITS = {
  maxBurnBatchElements: limits.MAX_BURN_BATCH_ELEMENTS,
  /**
   * Burns per ledger commit, at most 128: each lands in its own block, and all must land within the 150 blocks of their
   * blockhash. A commit blocks the event loop.
   */
  burnsPerCommit: 128,
  bundlesPerCommit: 32,
  maxPipelines: limits.MAX_PIPELINES,
  maxProofBytes: limits.MAX_PROOF_BYTES,
  /** Days on which the store was in use, not calendar days. */
  idempotencyRetentionDays: limits.IDEMPOTENCY_RETENTION_DAYS,
  minOperatorLamports: limits.MIN_OPERATOR_LAMPORTS,
  maxOpenRentLamports: limits.MAX_OPEN_RENT_LAMPORTS,
};
export type EngineLimits = Readonly<typeof DEFAULT_LIMITS>;

export interface EngineParts {
  readonly store: Store;
  readonly chain: Chain;
  readonly keyring: Keyring;
  readonly treasury: Address | null;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly leases: Leases;
  readonly actor: string;
  readonly limits: EngineLimits;
  readonly project?: string | null;
  /** @throws `ERR_CHAIN_MISMATCH`, `ERR_UNAVAILABLE` */
  readonly verifyToken?: (tokenId: string) => Promise<void>;
  readonly onEvent?: (event: EngineEvent) => void;
}

export type Sources = Pick<EngineParts, 'store' | 'chain'>;

export interface EngineDeps extends EngineParts {
  readonly gaps: GapWatch;
}
