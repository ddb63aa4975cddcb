/**
 * Settles units whose intents are stored: submits them and finds out what became of each. Submitting decides nothing; an end is
 * what a look-up says, or a refusal by the chain. Whatever has proven never to land is signed once more by who owns it.
 */
import type { Chain, RecentBlockhash, SubmitReceipt, TransactionRecord } from '../../chain/chain.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { Lease } from '../lease.js';
import { awaitFates, type Failed, findFates, type Landed, OPEN, refused, type Unit } from './fate.js';
import { submitInOrder } from './in-order.js';
import { isExpiry, openOf, type Slot, slotOf, take, unitOf } from './slots.js';

/**
 * Times that units are sent in one run, and none comes to an end, before they are left to the next run. Each proves first that
 * the last one has not landed; several are only needed where the process stood still for longer than a blockhash lives.
 */
const MAX_IDLE_ROUNDS = 20;

/** A unit, as it was signed last, with its end. */
export interface Settled<U extends Unit> {
  readonly unit: U;
  readonly end: Landed | Failed;
}

export interface Settlement<U extends Unit> {
  readonly units: readonly U[];
  /** Were they stored just now, so are certain not to have been submitted? */
  readonly areNew: boolean;
  /**
   * `bundles`: each lands whole or not at all, in order, and the first that fails stops those after it.
   * `alone`: units of one transaction, each for itself.
   */
  readonly as: 'bundles' | 'alone';
  /** Under which all of it is done; asked before anything is signed or sent. @default nobody else can be at it */
  readonly lease?: Lease;
  /**
   * Signs those that can land no more once more, and stores that.
   * @param inVain - what some of them have landed as all the same, without doing anything; their fees are gone.
   * @returns one for each, in order.
   */
  readonly renew: (expired: readonly U[], inVain: readonly TransactionRecord[]) => Promise<readonly U[]>;
}

/**
 * @returns the units that came to an end, in order; after one that stopped the others there is none.
 * @throws `ERR_UNAVAILABLE` when the end of some is not known; settling the same units again finds it.
 */
export async function settle<U extends Unit>(
  chain: Chain,
  { units, areNew, as, lease, renew }: Settlement<U>,
): Promise<readonly Settled<U>[]> {
  const slots = units.map((unit) => slotOf(unit, areNew));
  const inOrder = as === 'bundles' && chain.pollMs !== null && chain.bundleSize === 1;
  let left = slots.length;
  for (let idle = 0; idle < MAX_IDLE_ROUNDS; ) {
    if (!inOrder) {
      const sent = openOf(slots, as).filter(({ isNew }) => !isNew);
      take(sent, await findFates(chain, sent.map(unitOf)));
    }
    requireRemembered(slots);
    await lease?.check();
    await renewExpired(openOf(slots, as), renew);
    if (inOrder) await submitInOrder(chain, slots, lease);
    else await submit(chain, openOf(slots, as), as, lease);
    const { length } = openOf(slots, as);
    if (length === 0) return slots.flatMap(settled);
    idle = length < left ? 0 : idle + 1;
    left = length;
  }
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `The chain does not say yet what became of ${openOf(slots, as).length} transactions that were sent.`,
  );
}

/**
 * Settles one unit that nobody has to find again: it lands whole or not at all.
 * @param sign - called once more for each blockhash that has expired before the unit landed.
 */
export async function settleOne(
  chain: Chain,
  sign: (recent: RecentBlockhash) => Promise<Unit['transactions']>,
): Promise<Settled<Unit>> {
  const signed = async (): Promise<Unit> => {
    const recent = await chain.latestBlockhash();
    return { transactions: await sign(recent), lastValidBlockHeight: recent.lastValidBlockHeight };
  };
  const [only] = await settle(chain, {
    units: [await signed()],
    areNew: true,
    as: 'bundles',
    renew: async () => [await signed()],
  });
  invariant(only !== undefined, 'A unit that is settled has its end.');
  return only;
}

/** @throws `ERR_UNAVAILABLE` where the chain has forgotten what became of a unit: nothing more can be done about it here. */
function requireRemembered(slots: readonly Slot<Unit>[]): void {
  const forgotten = slots.find(({ fate }) => fate.kind === 'open' && fate.isOver === true);
  if (forgotten === undefined) return;
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `No node remembers far enough to say whether the transaction ${forgotten.unit.transactions[0]?.signature} has landed; nothing is signed in its place.`,
    { hint: 'Name an RPC node that keeps more of the past.' },
  );
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
  const renewed = await renew(
    expired.map(unitOf),
    expired.flatMap(({ inVain }) => inVain),
  );
  for (const [index, slot] of expired.entries()) {
    slot.unit = renewed[index] ?? slot.unit;
    slot.fate = OPEN;
    slot.isNew = renewed[index] !== undefined;
    slot.isSent = false;
    slot.inVain = [];
  }
}

/** Submits, and takes what came of the first of them; the chain has not tried those after them. */
async function submit<U extends Unit>(
  chain: Chain,
  slots: readonly Slot<U>[],
  as: Settlement<U>['as'],
  lease: Lease | undefined,
): Promise<void> {
  if (slots.length === 0) return;
  const bytes = slots.map(({ unit }) => unit.transactions.map((transaction) => transaction.bytes));
  const areNew = slots.map(({ isNew }) => isNew);
  const receipt: SubmitReceipt =
    as === 'bundles' ? await chain.submitBundles(bytes, areNew) : await chain.submit(bytes.flat(), areNew);
  const tried = slots.slice(0, receipt.length);
  const taken: Slot<U>[] = [];
  for (const [index, slot] of tried.entries()) {
    slot.isNew = false;
    const rejection = receipt[index];
    // An unknown blockhash may only mean that it ran out meanwhile, which a look-up proves.
    if (rejection != null && !isExpiry(rejection)) slot.fate = refused(rejection);
    else taken.push(slot);
  }
  take(taken, await awaitFates(chain, taken.map(unitOf), lease));
}
