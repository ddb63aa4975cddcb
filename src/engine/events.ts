/**
 * What an engine says of its work as it does it, each under the id of the operation: of the request that asked for it, or of the
 * batch. Who follows one operation through several processes looks for that id in the log of each. Nothing is decided by it.
 */
import type { KeyedOperationId } from '../contract/operations.js';
import type { StoreTransaction } from '../store/store.js';
import type { EngineDeps } from './deps.js';
import type { Settled, Unit } from './settle.js';

export type EngineEvent = {
  readonly operationId: string;
} & (
  | {
      readonly event: 'begun';
      readonly operation: KeyedOperationId;
      readonly project: string;
      readonly keyId: string;
      /** Of the call that brought it, where it has one. */
      readonly requestId?: string;
    }
  /** Another engine had it, and does not work on it any more. */
  | { readonly event: 'taken over'; readonly from: string | null }
  /** Another engine has it now; this one does nothing more for it. */
  | { readonly event: 'lease lost' }
  /** Transactions that were signed and written down; they are sent next. */
  | { readonly event: 'signed'; readonly phase: string; readonly signatures: readonly string[] }
  | {
      readonly event: 'settled';
      readonly phase: string;
      readonly landed: readonly string[];
      readonly failed: readonly string[];
    }
  /** What was left unfinished has come to its end, or to where it waits for somebody. */
  | { readonly event: 'reconciled'; readonly what: string }
);

export const tell = ({ onEvent }: Pick<EngineDeps, 'onEvent'>, event: EngineEvent): void => onEvent?.(event);

/** Says what a transaction writes, once it is written: of what is rolled back there is nothing to say. */
export const tellWritten = (
  deps: Pick<EngineDeps, 'onEvent'>,
  tx: Pick<StoreTransaction, 'whenCommitted'>,
  event: EngineEvent,
): void => tx.whenCommitted(() => tell(deps, event));

interface Subject {
  readonly operationId: string;
  readonly phase: string;
}

const signaturesOf = (units: readonly Pick<Unit, 'transactions'>[]): readonly string[] =>
  units.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));

export function tellSigned(
  deps: Pick<EngineDeps, 'onEvent'>,
  subject: Subject,
  units: readonly Pick<Unit, 'transactions'>[],
): void {
  if (units.length > 0) tell(deps, { ...subject, event: 'signed', signatures: signaturesOf(units) });
}

export function tellSettled(
  deps: Pick<EngineDeps, 'onEvent'>,
  subject: Subject,
  settled: readonly Settled<Unit>[],
): void {
  const of = (kind: 'landed' | 'failed') =>
    signaturesOf(settled.filter(({ end }) => end.kind === kind).map(({ unit }) => unit));
  if (settled.length > 0)
    tell(deps, { ...subject, event: 'settled', landed: of('landed'), failed: of('failed') });
}
