/** The Clock sysvar: what the chain takes for the time, as one of its accounts. */
import { viewOf } from '../values/bytes.js';
import type { AccountState } from './account.js';

/** Slot u64, start of the epoch i64, epoch u64, leader schedule's epoch u64, time i64 (solana-clock, `Clock`). */
const SIZE_BYTES = 40;
const EPOCH_OFFSET = 16;
const TIME_OFFSET = 32;

/** What programs see of the time. */
interface ChainClock {
  readonly slot: bigint;
  readonly epoch: bigint;
  /** Seconds. */
  readonly unixTimestamp: bigint;
}

/** `undefined` for an account that is none. */
export function decodeClock(account: AccountState | null | undefined): ChainClock | undefined {
  if (account?.data.length !== SIZE_BYTES) return undefined;
  const view = viewOf(account.data);
  return {
    slot: view.getBigUint64(0, true),
    epoch: view.getBigUint64(EPOCH_OFFSET, true),
    unixTimestamp: view.getBigInt64(TIME_OFFSET, true),
  };
}
