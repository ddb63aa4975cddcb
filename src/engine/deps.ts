/** Dependencies of the engine (store, chain, keys, clock, ids), and its in-memory state. */
import type { Chain } from '../chain/chain.js';
import type { Signer } from '../chain/transaction/sign.js';
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

export interface EngineLimits {
  readonly maxBurnBatchElements: number;
  /**
   * Burns per ledger commit, at most 128: each lands in its own block, and all must land within the 150 blocks of their
   * blockhash. A commit blocks the event loop.
   */
  readonly burnsPerCommit: number;
  readonly bundlesPerCommit: number;
  readonly maxPipelines: number;
  readonly maxProofBytes: number;
  /** Days on which the store was in use, not calendar days. */
  readonly idempotencyRetentionDays: number;
  readonly minOperatorLamports: bigint;
  readonly maxOpenRentLamports: bigint;
}

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

export interface EngineDeps extends EngineParts {
  readonly gaps: GapWatch;
}
