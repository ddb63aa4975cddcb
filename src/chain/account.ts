/**
 * An account of the chain as every part of the program passes it around.
 *
 * A state is shared by all who ever asked for it: the ledger's memory, the machine, bundles that may still be rolled back.
 * So it is never changed in place, and its type has nothing to change it with; a new state is a new object with data of its
 * own (`copyBytes`). Two states that are the same object are the same version.
 */
import type { Address } from '../values/address.js';
import type { ReadonlyBytes } from '../values/bytes.js';
import { encode, i64, struct, tryDecode, u64 } from './codec.js';
import { SYSTEM_PROGRAM } from './programs.js';

/** State of one account; an account that does not exist is `null` wherever this is asked for. */
export interface AccountState {
  readonly lamports: bigint;
  readonly owner: Address;
  readonly data: ReadonlyBytes;
  readonly executable: boolean;
  /** 2^64 − 1 for every rent-exempt account. */
  readonly rentEpoch: bigint;
}

export const RENT_EPOCH_EXEMPT = 18_446_744_073_709_551_615n;

/** What stands at an address where nothing is. */
export const EMPTY_ACCOUNT: AccountState = {
  lamports: 0n,
  owner: SYSTEM_PROGRAM,
  data: new Uint8Array(0),
  executable: false,
  rentEpoch: RENT_EPOCH_EXEMPT,
};

/** Lamports for a byte and its share of the bookkeeping, as the Rent sysvar of the cluster has them. */
const RENT_LAMPORTS_PER_BYTE = 6_960n;
const ACCOUNT_OVERHEAD_BYTES = 128n;

/** Lowest balance with which an account of so many bytes lives for ever. */
export type Rent = (sizeBytes: number) => bigint;

/** {@link Rent} where it never changes (squads-v4.md, section 2, "Rent"). */
export const rentExemptLamports: Rent = (sizeBytes) =>
  (ACCOUNT_OVERHEAD_BYTES + BigInt(sizeBytes)) * RENT_LAMPORTS_PER_BYTE;

/** {@link Rent} where an account without data needs so much: every byte costs the same. */
export const rentFromEmpty =
  (emptyLamports: bigint): Rent =>
  (sizeBytes) =>
    (emptyLamports * (ACCOUNT_OVERHEAD_BYTES + BigInt(sizeBytes)) + ACCOUNT_OVERHEAD_BYTES - 1n) /
    ACCOUNT_OVERHEAD_BYTES;

/** Fee of a transaction for each of its signatures, without a priority fee. */
export const LAMPORTS_PER_SIGNATURE = 5_000n;

/** What programs see of the time. */
export interface ChainClock {
  readonly slot: bigint;
  readonly epoch: bigint;
  /** Seconds. */
  readonly unixTimestamp: bigint;
}

/** The Clock sysvar (solana-clock, `Clock`). */
const clockData = struct({ slot: u64, epochStart: i64, epoch: u64, leaderEpoch: u64, unixTimestamp: i64 });

/** `undefined` for an account that is none. */
export const decodeClock = (account: AccountState | null | undefined): ChainClock | undefined =>
  account == null ? undefined : tryDecode(clockData, account.data);

export const encodeClock = (clock: ChainClock): Uint8Array =>
  encode(clockData, { ...clock, epochStart: 0n, leaderEpoch: clock.epoch });
