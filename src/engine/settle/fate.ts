/** What became of signed units of transactions, as only the chain's own records can say. */
import { setTimeout } from 'node:timers/promises';
import type { Chain, Rejection, Signature, TransactionRecord } from '../../chain/chain.js';
import { describeTransactionError } from '../../chain/transaction/program-errors.js';
import { hasExpired } from './expiry.js';

/** One to four signed transactions that have one purpose and one blockhash. */
export interface Unit {
  readonly transactions: readonly { readonly signature: Signature; readonly bytes: Uint8Array }[];
  readonly lastValidBlockHeight: bigint;
}

/** A unit has landed whole and did what it was for. */
export interface Landed {
  readonly kind: 'landed';
  readonly records: readonly TransactionRecord[];
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
export interface Expired {
  readonly kind: 'expired';
}

/** It may have landed, or land yet. */
export interface Open {
  readonly kind: 'open';
}

export type Fate = Landed | Failed | Expired | Open;

const EXPIRED: Expired = { kind: 'expired' };
export const OPEN: Open = { kind: 'open' };

/** The fate of a unit that the chain did not take. */
export const refused = (rejection: Rejection): Failed => ({
  kind: 'failed',
  at: rejection.index,
  reason: describeTransactionError(rejection.error, rejection.logs),
  records: [],
  rejection,
});

/**
 * Looks up units that may have been submitted, in this order: what has expired, then every signature. A unit that is not found
 * after it has expired can never land.
 * @returns one fate a unit, in order.
 */
export async function findFates(chain: Chain, units: readonly Unit[]): Promise<readonly Fate[]> {
  if (units.length === 0) return [];
  const expiredHeight = await chain.expiredHeight();
  const records = await chain.lookUp(
    units.flatMap(({ transactions }) => transactions.map(({ signature }) => signature)),
  );
  let from = 0;
  return units.map((unit) => {
    const own = records.slice(from, from + unit.transactions.length);
    from += unit.transactions.length;
    return fateOf(chain, own, hasExpired(unit.lastValidBlockHeight, expiredHeight));
  });
}

/** {@link findFates}, waiting where a chain takes its time, until every unit has landed or has proven never to. */
export async function awaitFates(chain: Chain, units: readonly Unit[]): Promise<readonly Fate[]> {
  const { pollMs } = chain;
  let fates = await findFates(chain, units);
  while (pollMs !== null && fates.some(({ kind }) => kind === 'open')) {
    await setTimeout(pollMs);
    const open = units.filter((_, index) => fates[index]?.kind === 'open');
    const found = new Map((await findFates(chain, open)).map((fate, index) => [open[index], fate]));
    fates = fates.map((fate, index) => found.get(units[index] as Unit) ?? fate);
  }
  return fates;
}

function fateOf({ pollMs }: Chain, records: readonly (TransactionRecord | null)[], isExpired: boolean): Fate {
  const end = records.indexOf(null);
  const landed = (end < 0 ? records : records.slice(0, end)).filter((record) => record !== null);
  const at = landed.findIndex(({ error }) => error !== null);
  const blamed = landed[at];
  if (blamed?.error != null) {
    const reason = describeTransactionError(blamed.error, blamed.logs);
    return { kind: 'failed', at, reason, records: landed, rejection: null };
  }
  if (end < 0) return { kind: 'landed', records: landed };
  // The rest of a unit is on its way where a chain takes its time; elsewhere it would be there.
  if (landed.length > 0 && (isExpired || pollMs === null)) {
    const reason = 'the bundle was taken apart, and only the transactions before it landed';
    return { kind: 'failed', at: landed.length, reason, records: landed, rejection: null };
  }
  return isExpired ? EXPIRED : OPEN;
}
