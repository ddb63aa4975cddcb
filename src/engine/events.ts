/** Events of the engine for logs, under the id of the request or batch. No decision depends on events. */
import type { KeyedOperationId } from '../contract/operations.js';
import type { EngineDeps } from './deps.js';
import type { Fate, Unit } from './settle.js';

export type EngineEvent = {
  readonly operationId: string;
} & (
  | {
      readonly event: 'begun';
      readonly operation: KeyedOperationId;
      readonly project: string;
      readonly keyId: string;
      readonly requestId?: string;
    }
  | { readonly event: 'taken over'; readonly from: string | null }
  | { readonly event: 'lease lost' }
  | { readonly event: 'signed'; readonly phase: string; readonly signatures: readonly string[] }
  | {
      readonly event: 'settled';
      readonly phase: string;
      readonly landed: readonly string[];
      readonly failed: readonly string[];
    }
  | { readonly event: 'reconciled'; readonly what: string }
);

export const tell = ({ onEvent }: Pick<EngineDeps, 'onEvent'>, event: EngineEvent): void => onEvent?.(event);

const signaturesOf = (units: readonly Pick<Unit, 'transactions'>[]): readonly string[] =>
  units.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));

export function tellSigned(
  deps: Pick<EngineDeps, 'onEvent'>,
  operationId: string,
  phase: string,
  units: readonly Pick<Unit, 'transactions'>[],
): void {
  if (units.length > 0) tell(deps, { operationId, phase, event: 'signed', signatures: signaturesOf(units) });
}

export function tellSettled(
  deps: Pick<EngineDeps, 'onEvent'>,
  operationId: string,
  phase: string,
  units: readonly Pick<Unit, 'transactions'>[],
  fates: readonly Fate[],
): void {
  const of = (kind: Fate['kind']) => signaturesOf(units.filter((_, at) => fates[at]?.kind === kind));
  const [landed, failed] = [of('landed'), of('failed')];
  if (landed.length + failed.length > 0) tell(deps, { operationId, phase, event: 'settled', landed, failed });
}
