/** What became of signed units of transactions, as only the chain's own records can say. */
import type { Chain, Progress, Rejection, Signature, Trace, TransactionRecord } from '../../chain/chain.js';
import { describeTransactionError } from '../../chain/transaction/program-errors.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Lease } from '../lease.js';

/** One to four signed transactions that have one purpose and one blockhash. */
export interface Unit {
  readonly transactions: readonly { readonly signature: Signature; readonly bytes: Uint8Array }[];
  readonly lastValidBlockHeight: bigint;
}

/** A unit has landed whole and did what it was for. */
export interface Landed {
  readonly kind: 'landed';
  readonly records: readonly TransactionRecord[];
  /** Can no fork take any of it back? */
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

/** It has proven never to land. */
interface Expired {
  readonly kind: 'expired';
}

/** It may have landed, or land yet. */
export interface Open {
  readonly kind: 'open';
  /** It can land no more, and whether it has, the chain does not remember. */
  readonly isOver?: true;
  /** Of the first transaction that has not come to its end. */
  readonly signature?: Signature;
  readonly progress?: Progress;
  /** It has been run without an error, on a fork that may not last; of units of one transaction only. */
  readonly ranWell?: true;
}

export type Fate = Landed | Failed | Expired | Open;

const EXPIRED: Expired = { kind: 'expired' };
export const OPEN: Open = { kind: 'open' };
const FORGOTTEN: Open = { kind: 'open', isOver: true };

const isAwaited = (fate: Fate | undefined): boolean => fate?.kind === 'open' && fate.isOver !== true;

/** Did the chain refuse because it does not know the blockhash, or no longer? */
export const isExpiry = ({ error }: Rejection): boolean =>
  error.kind === 'transaction' && error.error === 'BlockhashNotFound';

/** @throws `ERR_UNAVAILABLE` where the chain has forgotten what became of a unit: nothing more can be done about it here. */
export function requireRemembered(units: readonly Unit[], fates: readonly Fate[]): void {
  const forgotten = units.find((_, at) => fates[at] === FORGOTTEN);
  if (forgotten === undefined) return;
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `No node has enough history to say whether the transaction ${forgotten.transactions[0]?.signature} landed. Nothing is signed in its place.`,
    { hint: 'Use an RPC node with more history: --rpc-url.' },
  );
}

/** The fate of a unit that the chain did not take. */
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
 */
export async function findFates(chain: Chain, units: readonly Unit[]): Promise<readonly Fate[]> {
  if (units.length === 0) return [];
  const traces = await chain.trace(
    units.flatMap((unit) =>
      unit.transactions.map(({ signature, bytes }) => ({
        ...{ signature, bytes, lastValidBlockHeight: unit.lastValidBlockHeight },
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
  let fates = await findFates(chain, units);
  while (pollMs !== null && fates.some(isAwaited)) {
    tellWaiting(fates, lease);
    await lease.pause(pollMs);
    const open = units.filter((_, index) => isAwaited(fates[index]));
    const found = new Map((await findFates(chain, open)).map((fate, index) => [open[index], fate]));
    fates = fates.map((fate, index) => found.get(units[index] as Unit) ?? fate);
  }
  return fates;
}

/** Says what is waited for, if anything is. */
export function tellWaiting(fates: readonly Fate[], lease: Lease): void {
  const awaited = fates.filter(isAwaited) as readonly Open[];
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
    const reason = 'the bundle was split, and only the transactions before it landed';
    return { kind: 'failed', at: landed.length, reason, records: landed, rejection: null };
  }
  if (isOver) return EXPIRED;
  if (traces.some((trace) => trace.kind === 'open' && trace.isOver)) return FORGOTTEN;
  const at = traces.findIndex(({ kind }) => kind === 'open');
  return openAt(transactions[at]?.signature, traces[at], traces.length === 1);
}

const openAt = (signature: Signature | undefined, trace: Trace | undefined, isWhole: boolean): Open => ({
  kind: 'open',
  ...(isWhole && trace?.kind === 'open' && trace.ranWell === true ? { ranWell: true } : {}),
  ...(signature === undefined ? {} : { signature }),
  ...(trace?.kind === 'open' && trace.progress !== undefined ? { progress: trace.progress } : {}),
});
