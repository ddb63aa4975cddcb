/** The daily caps of a project: what is left of them, and how they are changed. */
import type { CapChanges, CapState, Caps } from '../../contract/admin.js';
import type { FlywheelRecord, TokenRecord } from '../../store/records.js';
import type { UsageKind } from '../../store/repositories/usage.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import { formatTokenAmount, parseTokenAmount } from '../../values/token-amount.js';
import { dailyCap, USAGE_KINDS, usedToday } from '../daily-cap.js';
import type { EngineDeps } from '../deps.js';
import { recordAct } from './audit.js';
import { requireRegistration } from './find-registration.js';

/** What has landed today, all that may still land, and what that leaves. */
export async function readCaps(
  tx: StoreTransaction,
  token: TokenRecord,
  flywheel: FlywheelRecord,
): Promise<Caps> {
  const used = await usedToday(tx, token.id);
  const text = (amount: bigint): string => formatTokenAmount(amount, token.decimals);
  const state = (kind: UsageKind): CapState => {
    const cap = dailyCap(flywheel, kind);
    const left = cap === null || cap < used[kind] ? 0n : cap - used[kind];
    return cap === null
      ? { used: text(used[kind]), cap: null, left: null }
      : { used: text(used[kind]), cap: text(cap), left: text(left) };
  };
  return { day: used.day, burn: state('burn'), airdrop: state('airdrop') };
}

const isLower = (cap: bigint | null, before: bigint | null): boolean =>
  cap !== null && (before === null || cap < before);

/** Changes those that are given. What was accepted before keeps its room. @throws `ERR_INVALID_REQUEST` for an amount that the token cannot express */
export async function setCaps(
  deps: Pick<EngineDeps, 'store' | 'actor' | 'project'>,
  changes: CapChanges,
): Promise<Caps> {
  return deps.store.transaction(async (tx) => {
    const { token, flywheel } = await requireRegistration(tx, deps.project ?? null);
    const amountOf = (kind: UsageKind): bigint | null => {
      const text = changes[kind];
      if (text === undefined) return dailyCap(flywheel, kind);
      if (text === null) return null;
      return Number(text) === 0 ? 0n : parseTokenAmount(text, token.decimals);
    };
    const caps = { dailyBurnCap: amountOf('burn'), dailyAirdropCap: amountOf('airdrop') };
    const after = { ...flywheel, ...caps };
    const isAnyLower = USAGE_KINDS.some((kind) => isLower(dailyCap(after, kind), dailyCap(flywheel, kind)));
    const dateCapsLowered = isAnyLower ? isoTime(tx.nowMs) : flywheel.dateCapsLowered;
    await tx.flywheels.setCaps(flywheel.id, { ...caps, dateCapsLowered });
    const text = (amount: bigint | null) => amount && formatTokenAmount(amount, token.decimals);
    await recordAct(deps, tx, {
      ...{ tokenId: token.id, action: 'caps.set', subject: flywheel.id },
      detail: {
        before: { burn: text(flywheel.dailyBurnCap), airdrop: text(flywheel.dailyAirdropCap) },
        after: { burn: text(after.dailyBurnCap), airdrop: text(after.dailyAirdropCap) },
      },
    });
    return readCaps(tx, token, { ...after, dateCapsLowered });
  });
}
