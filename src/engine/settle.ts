/** Sends transactions with stored intents and finds their outcomes. */
import type { Chain, Progress, Rejection, Signature, Trace, TransactionRecord } from '../chain/chain.js';
import { describeTransactionError } from '../chain/transaction/program-errors.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Lease } from './lease.js';

/** One to four signed transactions with one purpose and one blockhash. */
export interface Unit {
  readonly transactions: readonly { readonly signature: Signature; readonly bytes: Uint8Array }[];
  readonly lastValidBlockHeight: bigint;
  readonly paysOnlyFee?: true;
}

export interface Landed {
  readonly kind: 'landed';
  readonly records: readonly TransactionRecord[];
  readonly isFinal: boolean;
}

/** Failed, and never lands as signed. */
export interface Failed {
  readonly kind: 'failed';
  readonly at: number;
  readonly reason: string;
  readonly records: readonly TransactionRecord[];
  readonly rejection: Rejection | null;
}

/** May have landed, or may still land. */
export interface Open {
  readonly kind: 'open';
  readonly signature?: Signature;
  readonly progress?: Progress;
  /** Ran without an error on a fork that may not last. */
  readonly ranWell?: true;
}

/** `expired`: proven never to land. */
export type Fate = Landed | Failed | Open | { readonly kind: 'expired' };

const OPEN: Open = { kind: 'open' };

const isOpen = (fate: Fate | undefined): fate is Open => fate?.kind === 'open';

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
 * @returns one outcome per unit, in order.
 * @throws `ERR_UNAVAILABLE` when no node has the history of an expired unit: signing it again could run it twice.
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
    return fateOf(unit.transactions, own);
  });
}

/**
 * {@link findFates}, polling until every unit has landed, failed, or is proven never to land.
 * @throws on abort, or when another engine has the lease.
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

/** A unit of several transactions lands whole or not at all; only a local chain has such units. */
function fateOf(transactions: Unit['transactions'], traces: readonly Trace[]): Fate {
  const landed = traces.filter((trace) => trace.kind === 'landed');
  const records = landed.map(({ record }) => record);
  const at = records.findIndex(({ error }) => error !== null);
  const { error = null, logs = [] } = records[at] ?? {};
  if (error !== null)
    return { kind: 'failed', at, reason: describeTransactionError(error, logs), records, rejection: null };
  if (landed.length === traces.length)
    return { kind: 'landed', records, isFinal: landed.every(({ isFinal }) => isFinal) };
  const open = traces.find((trace) => trace.kind === 'open');
  if (open === undefined && landed.length === 0) return { kind: 'expired' };
  const [{ signature }] = transactions as [Unit['transactions'][number]];
  if (open?.isOver === true) throw forgotten(signature);
  const { progress, ranWell } = open ?? {};
  return { kind: 'open', signature, ...(ranWell && { ranWell }), ...(progress && { progress }) };
}

export const maybeSent = (error: unknown): unknown =>
  isFlywheelError(error, 'ERR_UNAVAILABLE') || isFlywheelError(error, 'ERR_RESPONSE_INVALID')
    ? error.with({ unsent: false })
    : error;

const forgotten = (signature: Signature): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `No node has enough history to say whether the transaction ${signature} landed. No replacement was signed.`,
    { hint: 'Use an RPC node with more history: --rpc-url.' },
  );

/** Rounds of one run without an outcome. More than one is needed only if the process stalled longer than a blockhash lives. */
const MAX_IDLE_ROUNDS = 20;

export interface Settled<U extends Unit> {
  readonly unit: U;
  readonly end: Landed | Failed;
}

interface Settlement<U extends Unit> {
  readonly units: readonly U[];
  /** Just stored, so certainly not sent before. */
  readonly areNew: boolean;
  readonly lease: Lease;
  readonly renew: (expired: readonly U[]) => Promise<readonly U[]>;
}

interface Slot<U extends Unit> {
  unit: U;
  fate: Fate;
  isNew: boolean;
}

/**
 * Only a look-up or a rejection by the chain is an outcome, never a successful submission. A unit proven never to land is signed
 * again by `renew`.
 * @returns the units, in order, with their outcomes.
 * @throws `ERR_UNAVAILABLE` when an outcome is unknown; a repeat with the same units finds it.
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
    // BlockhashNotFound may mean that the blockhash expired meanwhile; the look-up decides.
    if (rejection != null && !isExpiry(rejection)) slot.fate = refused(rejection);
    else taken.push(slot);
  }
  take(taken, await awaitFates(chain, unitsOf(taken), lease));
}
