/** Dependencies of the engine (store, chain, keys, clock, ids), and its in-memory state. */
import type { Chain } from '../chain/chain.js';
import type { Signer } from '../chain/transaction/sign.js';
import * as limits from '../contract/limits.js';
import type { KeyedOperationId } from '../contract/operations.js';
import type { Store } from '../store/store.js';
import type { Address } from '../values/address.js';
import type { Ids } from '../values/ids.js';
import type { Clock } from '../values/time.js';
import type { GapWatch } from './gap-watch.js';
import type { Leases } from './lease.js';
import type { Fate, Unit } from './settle.js';

type KeyRole = 'operator' | 'burn wallet' | 'treasury';

/** A created key is durable before `create` returns. */
export interface Keyring {
  /** @throws `ERR_STORE_UNAVAILABLE` when there is no key for the address, `ERR_KEYPAIR_INVALID` when another key was given. */
  get(address: Address, role: KeyRole): Signer;
  create(): Signer;
}

export const DEFAULT_LIMITS = {
  maxBurnBatchElements: limits.MAX_BURN_BATCH_ELEMENTS,
  /** A commit blocks the event loop. */
  burnsPerCommit: 256,
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

export type EngineEvent = {
  readonly operationId: string;
} & (
  | {
      readonly event: 'begun';
      readonly operation: KeyedOperationId;
      readonly project: string;
      readonly keyId: string;
      readonly requestId?: string;
    }
  | { readonly event: 'taken over'; readonly from: string | null }
  | { readonly event: 'lease lost' }
  | { readonly event: 'signed'; readonly phase: string; readonly signatures: readonly string[] }
  | {
      readonly event: 'settled';
      readonly phase: string;
      readonly landed: readonly string[];
      readonly failed: readonly string[];
    }
  | { readonly event: 'reconciled'; readonly what: string }
);

export const tell = ({ onEvent }: Pick<EngineDeps, 'onEvent'>, event: EngineEvent): void => onEvent?.(event);

const signaturesOf = (units: readonly Pick<Unit, 'transactions'>[]): readonly string[] =>
  units.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));

export function tellSigned(
  deps: Pick<EngineDeps, 'onEvent'>,
  operationId: string,
  phase: string,
  units: readonly Pick<Unit, 'transactions'>[],
): void {
  if (units.length > 0) tell(deps, { operationId, phase, event: 'signed', signatures: signaturesOf(units) });
}

export function tellSettled(
  deps: Pick<EngineDeps, 'onEvent'>,
  operationId: string,
  phase: string,
  units: readonly Pick<Unit, 'transactions'>[],
  fates: readonly Fate[],
): void {
  const of = (kind: Fate['kind']) => signaturesOf(units.filter((_, at) => fates[at]?.kind === kind));
  const [landed, failed] = [of('landed'), of('failed')];
  if (landed.length + failed.length > 0) tell(deps, { operationId, phase, event: 'settled', landed, failed });
}
