/** What the engine needs from outside, all of it handed in (store, chain, keys, time, identity), and what it keeps in memory. */
import type { Chain } from '../chain/chain.js';
import type { Signer } from '../chain/transaction/sign.js';
import type { Store } from '../store/store.js';
import type { Address } from '../values/address.js';
import type { Ids } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import type { EngineEvent } from './events.js';
import type { GapWatch } from './gaps/gap-watch.js';
import type { Leases } from './lease.js';

export type KeyRole = 'operator' | 'burn wallet' | 'treasury';

/** Keeps the keys that the service signs with, or knows who does; those it makes are durable before they are returned. */
export interface Keyring {
  /** @throws `ERR_STORE_UNAVAILABLE` when there is no key for the address, `ERR_KEYPAIR_INVALID` when another one was given. */
  get(address: Address, role: KeyRole): Signer;
  create(): Signer;
}

export interface EngineLimits {
  readonly maxBurnBatchElements: number;
  /**
   * Burns that share an intent, a ledger commit and an outcome, at most 128. Each lands in a block of its own, so all of them
   * must land within the 150 blocks that their blockhash lives. While a commit is made nobody else in the process has a turn.
   */
  readonly burnsPerCommit: number;
  /** Bundles of a batch that share an intent, a ledger commit and an outcome; as with burns, nobody else has a turn meanwhile. */
  readonly bundlesPerCommit: number;
  readonly maxPipelines: number;
  readonly maxProofBytes: number;
  /** Days on which the store was in use, not days of the clock. */
  readonly idempotencyRetentionDays: number;
  readonly minOperatorLamports: bigint;
  readonly maxOpenRentLamports: bigint;
}

/** Is the token on chain as it was registered? @throws `ERR_CHAIN_MISMATCH`, `ERR_UNAVAILABLE` */
export type TokenCheck = (tokenId: string) => Promise<void>;

export interface EngineParts {
  readonly store: Store;
  readonly chain: Chain;
  readonly keyring: Keyring;
  /** Holds the SOL and, after registration, the tokens that `fund` gives out; only a local chain has one. */
  readonly treasury: Address | null;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly leases: Leases;
  readonly actor: string;
  readonly limits: EngineLimits;
  /** Name of the project that administration acts on. @default the only one */
  readonly project?: string | null;
  /** Asked for each project before something is written for it. @default nothing is */
  readonly verifyToken?: TokenCheck;
  readonly onEvent?: (event: EngineEvent) => void;
}

/** With what an engine keeps in memory beside its {@link Leases}; all else that it knows is in the store. */
export interface EngineDeps extends EngineParts {
  readonly gaps: GapWatch;
}
