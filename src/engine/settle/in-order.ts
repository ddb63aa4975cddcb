/**
 * Units that build on each other, on a chain that takes its time: each is sent as soon as nodes have run the one before, and not
 * only when that has landed. If a fork takes the earlier one away, the later one may land first, and fails for that reason
 * alone: then it is signed anew once all before it have landed, and only what fails after that has failed.
 */
import { setTimeout } from 'node:timers/promises';
import type { Chain } from '../../chain/chain.js';
import type { Lease } from '../lease.js';

import { type Fate, findFates, refused, tellWaiting, type Unit } from './fate.js';

import { isExpiry, openOf, type Slot, take, unitOf } from './slots.js';

/** Units on their way that have not landed at most: what a fork can take away at once. */
const MAX_AHEAD = 6;
/** What was sent is looked at this many times as often as where nothing waits for it. */
const LOOKS = 2;

/**
 * Submits those that are open, in order. Returns when all have come to an end, when one has failed, or when one has to be
 * signed anew.
 */
export async function submitInOrder<U extends Unit>(
  chain: Chain,
  slots: readonly Slot<U>[],
  lease: Lease | undefined,
): Promise<void> {
  await look(
    chain,
    slots,
    openOf(slots, 'bundles').filter(({ isNew, isSent }) => !isNew && !isSent),
  );
  for (;;) {
    const open = openOf(slots, 'bundles');
    if (open.length === 0 || open.some(cannotGoOn)) return;
    const next = open.find(({ isSent }) => !isSent);
    const before = next === undefined ? [] : slots.slice(0, slots.indexOf(next));
    if (next !== undefined && mayBeSent(next, before)) {
      await send(chain, next, before.some(isOnItsWay));
      continue;
    }
    await pause(chain, open, lease);
    await lease?.check();
    await look(
      chain,
      slots,
      open.filter(({ isSent }) => isSent),
    );
  }
}

async function look<U extends Unit>(
  chain: Chain,
  slots: readonly Slot<U>[],
  sent: readonly Slot<U>[],
): Promise<void> {
  const unknown = sent.filter(({ inVain }) => inVain.length === 0);
  take(unknown, await findFates(chain, unknown.map(unitOf)));
  for (const slot of sent) judge(slot, slots);
}

const isOnItsWay = ({ fate }: Slot<Unit>): boolean => fate.kind !== 'landed';

const cannotGoOn = ({ fate }: Slot<Unit>): boolean =>
  fate.kind === 'expired' || (fate.kind === 'open' && fate.isOver === true);

/** @param before - those that it comes after. */
function mayBeSent({ unit, isEarly }: Slot<Unit>, before: readonly Slot<Unit>[]): boolean {
  const onTheirWay = before.filter(isOnItsWay);
  if (onTheirWay.length === 0) return true;
  // What came too early once waits, and what holds several transactions together is for who holds them.
  if (isEarly || unit.transactions.length > 1 || onTheirWay.length >= MAX_AHEAD) return false;
  return onTheirWay.every(({ fate, inVain }) => fate.kind === 'open' && fate.ranWell && inVain.length === 0);
}

/** Only what is sent in its time is tried out before: before that the chain's state is not yet what it builds on. */
async function send<U extends Unit>(chain: Chain, slot: Slot<U>, isEarly: boolean): Promise<void> {
  const bytes = slot.unit.transactions.map((transaction) => transaction.bytes);
  const [rejection] = await chain.submitBundles([bytes], [slot.isNew && !isEarly]);
  slot.isNew = false;
  slot.isSent = true;
  slot.isEarly = isEarly;
  // An unknown blockhash may only mean that it ran out meanwhile, which a look-up proves.
  if (rejection != null && !isExpiry(rejection)) slot.fate = refused(rejection);
}

/** What failed and was sent early has not failed yet: it is signed anew when its time has come. */
function judge<U extends Unit>(slot: Slot<U>, slots: readonly Slot<U>[]): void {
  if (slot.fate.kind === 'failed' && slot.isEarly) {
    slot.inVain = slot.fate.records;
    slot.fate = { kind: 'open' };
  }
  const before = slots.slice(0, slots.indexOf(slot));
  if (slot.inVain.length > 0 && !before.some(isOnItsWay)) slot.fate = { kind: 'expired' };
}

/** Before it was looked at, it is only known by its name. */
function awaited({ fate, unit: { transactions } }: Slot<Unit>): readonly Fate[] {
  const [first] = transactions;
  return fate.kind === 'open' && first !== undefined ? [{ signature: first.signature, ...fate }] : [];
}

async function pause(
  { pollMs }: Chain,
  open: readonly Slot<Unit>[],
  lease: Lease | undefined,
): Promise<void> {
  tellWaiting(open.filter(({ isSent }) => isSent).flatMap(awaited), lease);
  const signal = lease?.signal;
  const waits = setTimeout((pollMs ?? 0) / LOOKS, undefined, signal === undefined ? {} : { signal });
  await waits.catch(() => undefined);
  signal?.throwIfAborted();
}
