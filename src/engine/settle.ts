/**
 * Settles transactions whose intents are stored: submits them and finds out what became of each. Submitting decides nothing; an end
 * is what a look-up says, or a refusal by the chain. Whatever has proven never to land is signed once more by who owns it.
 */
import type { Chain, Progress, Rejection, Signature, Trace, TransactionRecord } from '../chain/chain.js';
import { describeTransactionError } from '../chain/transaction/program-errors.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Lease } from './lease.js';

/** One to four signed transactions that have one purpose and one blockhash. */
export interface Unit {
  readonly transactions: readonly { readonly signature: Signature; readonly bytes: Uint8Array }[];
  readonly lastValidBlockHeight: bigint;
  readonly paysOnlyFee?: true;
}

/** A unit has landed whole and did what it was for. */
export interface Landed {
  readonly kind: 'landed';
  readonly records: readonly TransactionRecord[];
  readonly isFinal: boolean;
}

/** It did not, and never will as it was signed. */
export interface Failed {
  readonly kind: 'failed';
  /** Index within the unit of the transaction that is to blame. */
  readonly at: number;
  readonly reason: string;
  /** Of those that have landed all the same; their fees are gone. */
  readonly records: readonly TransactionRecord[];
  /** Why the chain did not take it, where that is the reason. */
  readonly rejection: Rejection | null;
}

/** It may have landed, or land yet. */
export interface Open {
  readonly kind: 'open';
  /** Of the first transaction that has not come to its end. */
  readonly signature?: Signature;
  readonly progress?: Progress;
  /** It has been run without an error, on a fork that may not last; of units of one transaction only. */
  readonly ranWell?: true;
}

/** `expired`: it has proven never to land. */
export type Fate = Landed | Failed | Open | { readonly kind: 'expired' };

const OPEN: Open = { kind: 'open' };

const isOpen = (fate: Fate | undefined): fate is Open => fate?.kind === 'open';

/** Did the chain refuse because it does not know the blockhash, or no longer? */
export const isExpiry = ({ error }: Rejection): boolean =>
  error.kind === 'transaction' && error.error === 'BlockhashNotFound';

export const refused = (rejection: Rejection): Failed => ({
  kind: 'failed',
  at: rejection.index,
  reason: describeTransactionError(rejection.error, rejection.logs),
  records: [],
  rejection,
});

/**
 * Looks up units that may have been submitted, every signature of them.
 * @returns one fate a unit, in order.
 * @throws `ERR_UNAVAILABLE` where the chain has forgotten what became of one that can land no more: nothing can be done about it here.
 */
export async function findFates(chain: Chain, units: readonly Unit[]): Promise<readonly Fate[]> {
  if (units.length === 0) return [];
  const traces = await chain.trace(
    units.flatMap((unit) =>
      unit.transactions.map(({ signature, bytes }) => ({
        ...{ signature, bytes, lastValidBlockHeight: unit.lastValidBlockHeight },
        ...(unit.paysOnlyFee && { paysOnlyFee: true as const }),
      })),
    ),
  );
  let from = 0;
  return units.map((unit) => {
    const own = traces.slice(from, from + unit.transactions.length);
    from += own.length;
    return fateOf(chain, unit.transactions, own);
  });
}

/**
 * {@link findFates}, waiting where a chain takes its time, until every unit has landed or has proven never to.
 * @throws as soon as nobody waits any longer, or another has taken the work over.
 */
export async function awaitFates(
  chain: Chain,
  units: readonly Unit[],
  lease: Lease,
): Promise<readonly Fate[]> {
  const { pollMs } = chain;
  const fates = [...(await findFates(chain, units))];
  while (pollMs !== null && fates.some(isOpen)) {
    tellWaiting(fates, lease);
    await lease.pause(pollMs);
    const open = [...fates.keys()].filter((at) => isOpen(fates[at]));
    const found = await findFates(
      chain,
      open.map((at) => units[at] as Unit),
    );
    for (const [nth, at] of open.entries()) fates[at] = found[nth] as Fate;
  }
  return fates;
}

export function tellWaiting(fates: readonly Fate[], lease: Lease): void {
  const awaited = fates.filter(isOpen);
  const [first] = awaited;
  if (first?.signature === undefined) return;
  lease.tell({ transactions: awaited.length, signature: first.signature, ...first.progress });
}

function fateOf({ pollMs }: Chain, transactions: Unit['transactions'], traces: readonly Trace[]): Fate {
  const end = traces.findIndex(({ kind }) => kind !== 'landed');
  const landed = (end < 0 ? traces : traces.slice(0, end)).flatMap((trace) =>
    trace.kind === 'landed' ? [trace.record] : [],
  );
  const blamedAt = landed.findIndex(({ error }) => error !== null);
  const blamed = landed[blamedAt];
  if (blamed?.error != null) {
    const reason = describeTransactionError(blamed.error, blamed.logs);
    return { kind: 'failed', at: blamedAt, reason, records: landed, rejection: null };
  }
  if (end < 0) {
    const isFinal = traces.every((trace) => trace.kind === 'landed' && trace.isFinal);
    return { kind: 'landed', records: landed, isFinal };
  }
  const isOver = traces.slice(end).every(({ kind }) => kind === 'never');
  // The rest of a unit is on its way where a chain takes its time; elsewhere it would be there.
  if (landed.length > 0 && (isOver || pollMs === null)) {
    const reason = 'only part of the bundle landed';
    return { kind: 'failed', at: landed.length, reason, records: landed, rejection: null };
  }
  if (isOver) return { kind: 'expired' };
  if (traces.some((trace) => trace.kind === 'open' && trace.isOver)) throw forgotten(transactions);
  const at = traces.findIndex(({ kind }) => kind === 'open');
  const [signature, trace] = [transactions[at]?.signature, traces[at]];
  if (trace?.kind !== 'open' || signature === undefined) return OPEN;
  const { progress, ranWell } = trace;
  return {
    ...{ kind: 'open', signature },
    ...(ranWell === true && traces.length === 1 ? { ranWell } : {}),
    ...(progress === undefined ? {} : { progress }),
  };
}

/** Where the chain does not tell what became of something that may have been sent, the error says so. */
export const maybeSent = (error: unknown): unknown =>
  isFlywheelError(error, 'ERR_UNAVAILABLE') || isFlywheelError(error, 'ERR_RESPONSE_INVALID')
    ? error.with({ unsent: false })
    : error;

const forgotten = ([first]: Unit['transactions']): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `No node has enough history to say whether the transaction ${first?.signature} landed. No replacement was signed.`,
    { hint: 'Use an RPC node with more history: --rpc-url.' },
  );

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

interface Settlement<U extends Unit> {
  /** Of one transaction each, which stand for themselves. */
  readonly units: readonly U[];
  /** Were they stored just now, so are certain not to have been submitted? */
  readonly areNew: boolean;
  /** Under which all of it is done; asked before anything is signed or sent. */
  readonly lease: Lease;
  /** Signs those that can land no more once more, and stores that. @returns one for each, in order. */
  readonly renew: (expired: readonly U[]) => Promise<readonly U[]>;
}

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
  let left = slots;
  for (let idle = 0; idle < MAX_IDLE_ROUNDS; ) {
    const sent = left.filter(({ isNew }) => !isNew);
    take(sent, await findFates(chain, unitsOf(sent)));
    await lease.check();
    const expired = left.filter(({ fate }) => fate.kind === 'expired');
    if (expired.length > 0)
      for (const [index, unit] of (await renew(unitsOf(expired))).entries())
        Object.assign(expired[index] as Slot<U>, { unit, fate: OPEN, isNew: true });
    await submit(chain, left.filter(isUnsettled), lease);
    const before = left.length;
    left = left.filter(isUnsettled);
    if (left.length === 0) return slots.map(({ unit, fate }) => ({ unit, end: fate as Landed | Failed }));
    idle = left.length < before ? 0 : idle + 1;
  }
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `${left.length} transactions were sent, and their outcome is not known yet.`,
  );
}

const isUnsettled = ({ fate }: Slot<Unit>): boolean => fate.kind === 'open' || fate.kind === 'expired';

const unitsOf = <U extends Unit>(slots: readonly Slot<U>[]): readonly U[] => slots.map(({ unit }) => unit);

function take(slots: readonly Slot<Unit>[], fates: readonly Fate[]): void {
  for (const [index, slot] of slots.entries()) slot.fate = fates[index] as Fate;
}

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
  take(taken, await awaitFates(chain, unitsOf(taken), lease));
}
