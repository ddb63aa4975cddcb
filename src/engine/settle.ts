/** Sends transactions with stored intents and finds their outcomes. */
import type { Chain, Progress, Rejection, Signature, Trace, TransactionRecord } from '../chain/chain.js';
import { describeTransactionError } from '../chain/transaction/program-errors.js';
import type { ErrorCode } from '../errors/codes.js';
import { FlywheelError, invariant, isFlywheelError } from '../errors/flywheel-error.js';
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
  invariant(open !== undefined || landed.length === 0, 'A unit lands whole or not at all.');
  if (open === undefined) return { kind: 'expired' };
  const [{ signature }] = transactions as [Unit['transactions'][number]];
  if (open.isOver === true) throw forgotten(signature);
  const { progress, ranWell } = open;
  return { kind: 'open', signature, ...(ranWell && { ranWell }), ...(progress && { progress }) };
}

const NO_OUTCOME: readonly ErrorCode[] = ['ERR_UNAVAILABLE', 'ERR_RESPONSE_INVALID', 'ERR_CHAIN_MISMATCH'];

export const maybeSent = (error: unknown): unknown => {
  if (!isFlywheelError(error)) return error;
  const message = error.message.replace(/ Nothing was (?:sent|approved or executed)\.$/, '');
  const isOpen = NO_OUTCOME.includes(error.code);
  return new FlywheelError(error.code, message, { ...error.options, ...(isOpen && { unsent: false }) });
};

const forgotten = (signature: Signature): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `No node has enough history to say whether the transaction ${signature} landed. No replacement was signed.`,
    { hint: 'Use an RPC node with more history: --rpc-url.' },
  );

/** More than one is needed only if the process stalled longer than a blockhash lives. */
const MAX_ROUNDS = 20;

interface Settlement {
  readonly units: readonly Unit[];
  /** Just stored, so certainly not sent before. */
  readonly areNew: boolean;
  readonly lease: Lease;
  /** @param expired - their indexes. @returns the units that replace them, or why there is none. */
  readonly renew: (expired: readonly number[]) => Promise<readonly (Unit | Failed)[]>;
}

/**
 * Only a look-up or a rejection by the chain is an outcome, never a successful submission. A unit proven never to land is signed
 * again by `renew`.
 * @returns the outcomes, in order.
 * @throws `ERR_UNAVAILABLE` when an outcome is unknown; a repeat with the same units finds it.
 */
export async function settle(
  chain: Chain,
  { units, areNew, lease, renew }: Settlement,
): Promise<readonly (Landed | Failed)[]> {
  const current = [...units];
  const fates: Fate[] = units.map(() => OPEN);
  let left = [...units.keys()];
  const unsent = new Set(areNew ? left : []);
  const look = async (at: readonly number[], find: (some: readonly Unit[]) => Promise<readonly Fate[]>) => {
    const found = await find(at.map((index) => current[index] as Unit));
    for (const [nth, index] of at.entries()) fates[index] = found[nth] as Fate;
  };
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    await look(
      left.filter((at) => !unsent.has(at)),
      (some) => findFates(chain, some),
    );
    await lease.check();
    const expired = left.filter((at) => fates[at]?.kind === 'expired');
    for (const [nth, unit] of (expired.length === 0 ? [] : await renew(expired)).entries()) {
      const at = expired[nth] as number;
      if ('kind' in unit) fates[at] = unit;
      else {
        current[at] = unit;
        unsent.add(at);
      }
    }
    const open = left.filter((at) => unsent.has(at) || isOpen(fates[at]));
    const isNew = open.map((at) => unsent.delete(at));
    const sent = open.flatMap((at) => current[at]?.transactions.map(({ bytes }) => bytes) ?? []);
    const receipt = open.length === 0 ? [] : await chain.submit(sent, isNew);
    const taken = open.filter((at, nth) => {
      const rejection = receipt[nth];
      // BlockhashNotFound may mean that the blockhash expired meanwhile; the look-up decides.
      if (rejection == null || isExpiry(rejection)) return true;
      fates[at] = refused(rejection);
      return false;
    });
    await look(taken, (some) => awaitFates(chain, some, lease));
    left = left.filter((at) => isOpen(fates[at]) || fates[at]?.kind === 'expired');
    if (left.length === 0) return fates as readonly (Landed | Failed)[];
  }
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `${left.length} transactions were sent, and their outcome is not known yet.`,
  );
}
