/** Daily caps: the decision and its sentence; the store does the counting. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { FlywheelRecord, TokenRecord } from '../../store/records.js';
import type { UsageKind } from '../../store/store.js';
import type { UtcDay } from '../../values/time.js';
import { tokenText } from '../amount-text.js';

/** Base units that may be burned or airdropped on one UTC day; `null` for no cap. */
export const dailyCap = (flywheel: FlywheelRecord | undefined, kind: UsageKind): bigint | null =>
  (kind === 'burn' ? flywheel?.dailyBurnCap : flywheel?.dailyAirdropCap) ?? null;

/** The sentence of a refused amount: cap, what is used, what was asked. */
export function capExceededMessage(
  token: TokenRecord,
  at: {
    readonly kind: UsageKind;
    readonly cap: bigint;
    readonly used: bigint;
    readonly asked: bigint;
    readonly day: UtcDay;
  },
): string {
  const text = (amount: bigint): string => tokenText(amount, token);
  return `The daily ${at.kind} cap of ${text(at.cap)} would be passed: ${text(at.used)} are used on ${at.day} (UTC), ${text(at.asked)} were asked for.`;
}

/** @returns the error of a refused amount. */
export const capExceeded = (
  token: TokenRecord,
  at: Parameters<typeof capExceededMessage>[1],
): FlywheelError => new FlywheelError('ERR_DAILY_LIMIT_EXCEEDED', capExceededMessage(token, at));
