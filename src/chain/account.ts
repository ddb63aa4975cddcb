/**
 * The account type that the ledger, the VM and the RPC client share.
 *
 * States are immutable and shared: the ledger cache, the machine and uncommitted bundles may refer to the same object. A change
 * creates a new object with its own data (`copyBytes`). Object identity is version identity.
 */
import type { Address } from '../values/address.js';
import type { ReadonlyBytes } from '../values/bytes.js';
import { encode, i64, struct, tryDecode, u64 } from './codec.js';
import { SYSTEM_PROGRAM } from './programs.js';

/** State of one account. A missing account is `null`. */
export interface AccountState {
  readonly lamports: bigint;
  readonly owner: Address;
  readonly data: ReadonlyBytes;
  readonly executable: boolean;
}

/** The rent epoch of every account: rent is no longer collected. */
export const RENT_EPOCH_EXEMPT = 18_446_744_073_709_551_615n;

export const EMPTY_ACCOUNT: AccountState = {
  lamports: 0n,
  owner: SYSTEM_PROGRAM,
  data: new Uint8Array(0),
  executable: false,
};

const ACCOUNT_OVERHEAD_BYTES = 128n;

/** Minimum balance, in lamports, that makes an account of this size rent-exempt. */
export type Rent = (sizeBytes: number) => bigint;

/** {@link Rent} derived from the minimum of an account without data; every byte costs the same. */
export const rentFromEmpty =
  (emptyLamports: bigint): Rent =>
  (sizeBytes) =>
    (emptyLamports * (ACCOUNT_OVERHEAD_BYTES + BigInt(sizeBytes)) + ACCOUNT_OVERHEAD_BYTES - 1n) /
    ACCOUNT_OVERHEAD_BYTES;

/** Of the local chain, fixed at the value of the public clusters (squads-v4.md, section 2, "Rent"). */
export const rentExemptLamports: Rent = rentFromEmpty(890_880n);

export const LAMPORTS_PER_SIGNATURE = 5_000n;

export interface ChainClock {
  readonly slot: bigint;
  readonly epoch: bigint;
  readonly unixTimestamp: bigint;
}

/** The Clock sysvar (solana-clock, `Clock`). */
const clockData = struct({ slot: u64, epochStart: i64, epoch: u64, leaderEpoch: u64, unixTimestamp: i64 });

/** @returns `undefined` for a missing account or data of another layout. */
export const decodeClock = (account: AccountState | null | undefined): ChainClock | undefined =>
  account == null ? undefined : tryDecode(clockData, account.data);

export const encodeClock = (clock: ChainClock): Uint8Array =>
  encode(clockData, { ...clock, epochStart: 0n, leaderEpoch: clock.epoch });
