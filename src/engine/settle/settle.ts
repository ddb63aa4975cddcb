/**
 * Settles transactions whose intents are stored: submits them and finds out what became of each. Submitting decides nothing; an end
 * is what a look-up says, or a refusal by the chain. Whatever has proven never to land is signed once more by who owns it.
 */
import type { Chain } from '../../chain/chain.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Lease } from '../lease.js';
import {
  awaitFates,
  type Failed,
  type Fate,
  findFates,
  isExpiry,
  type Landed,
  OPEN,
  refused,
  requireRemembered,
  type Unit,
} from './look-up.js';

/**
 * Times that transactions are sent in one run, and none comes to an end, before they are left to the next run. Each proves first that
 * the last one has not landed; several are only needed where the process stood still for longer than a blockhash lives.
 */
const MAX_IDLE_ROUNDS = 20;

/** A unit, as it was signed last, with its end. */
export interface Settled<U extends Unit> {
  readonly unit: U;
  readonly end: Landed | Failed;
}

export interface Settlement<U extends Unit> {
  /** Of one transaction each, which stand for themselves. */
  readonly units: readonly U[];
  /** Were they stored just now, so are certain not to have been submitted? */
  readonly areNew: boolean;
  /** Under which all of it is done; asked before anything is signed or sent. */
  readonly lease: Lease;
  /** Signs those that can land no more once more, and stores that. @returns one for each, in order. */
  readonly renew: (expired: readonly U[]) => Promise<readonly U[]>;
}

/** A unit on its way to its end. */
interface Slot<U extends Unit> {
  unit: U;
  fate: Fate;
  /** It has certainly not been submitted as it is signed now. */
  isNew: boolean;
}

/**
 * @returns the units, in order, each with its end.
 * @throws `ERR_UNAVAILABLE` when the end of some is not known; settling the same units again finds it.
 */
export async function settle<U extends Unit>(
  chain: Chain,
  { units, areNew, lease, renew }: Settlement<U>,
): Promise<readonly Settled<U>[]> {
  const slots = units.map((unit): Slot<U> => ({ unit, fate: OPEN, isNew: areNew }));
  let left = slots.length;
  for (let idle = 0; idle < MAX_IDLE_ROUNDS; ) {
    const sent = openOf(slots).filter(({ isNew }) => !isNew);
    take(sent, await findFates(chain, sent.map(unitOf)));
    requireRemembered(
      slots.map(unitOf),
      slots.map(({ fate }) => fate),
    );
    await lease.check();
    await renewExpired(openOf(slots), renew);
    await submit(chain, openOf(slots), lease);
    const { length } = openOf(slots);
    if (length === 0) return slots.flatMap(settled);
    idle = length < left ? 0 : idle + 1;
    left = length;
  }
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `The outcome of ${openOf(slots).length} transactions that were sent is not known yet.`,
  );
}

const unitOf = <U extends Unit>({ unit }: Slot<U>): U => unit;

const openOf = <U extends Unit>(slots: readonly Slot<U>[]): readonly Slot<U>[] =>
  slots.filter(({ fate }) => fate.kind === 'open' || fate.kind === 'expired');

/** @param fates - of each of these, in order. */
function take<U extends Unit>(slots: readonly Slot<U>[], fates: readonly Fate[]): void {
  for (const [index, slot] of slots.entries()) slot.fate = fates[index] ?? slot.fate;
}

function settled<U extends Unit>({ unit, fate }: Slot<U>): readonly Settled<U>[] {
  return fate.kind === 'landed' || fate.kind === 'failed' ? [{ unit, end: fate }] : [];
}

async function renewExpired<U extends Unit>(
  open: readonly Slot<U>[],
  renew: Settlement<U>['renew'],
): Promise<void> {
  const expired = open.filter(({ fate }) => fate.kind === 'expired');
  if (expired.length === 0) return;
  const renewed = await renew(expired.map(unitOf));
  for (const [index, slot] of expired.entries()) {
    slot.unit = renewed[index] ?? slot.unit;
    slot.fate = OPEN;
    slot.isNew = renewed[index] !== undefined;
  }
}

/** Submits, and takes what came of it. */
async function submit<U extends Unit>(chain: Chain, slots: readonly Slot<U>[], lease: Lease): Promise<void> {
  if (slots.length === 0) return;
  const receipt = await chain.submit(
    slots.flatMap(({ unit }) => unit.transactions.map(({ bytes }) => bytes)),
    slots.map(({ isNew }) => isNew),
  );
  const taken: Slot<U>[] = [];
  for (const [index, slot] of slots.entries()) {
    slot.isNew = false;
    const rejection = receipt[index];
    // An unknown blockhash may only mean that it ran out meanwhile, which a look-up proves.
    if (rejection != null && !isExpiry(rejection)) slot.fate = refused(rejection);
    else taken.push(slot);
  }
  take(taken, await awaitFates(chain, taken.map(unitOf), lease));
}
