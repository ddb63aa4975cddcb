/** Refuses what may not be approved, and compares a project with its pins: the addresses and facts that the owner confirmed once, stored as text. */
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';

/** @throws `ERR_APPROVAL_REFUSED` always. */
export function refuse(reason: string, cause?: unknown): never {
  throw new FlywheelError('ERR_APPROVAL_REFUSED', `${reason}.`, cause === undefined ? {} : { cause });
}

/** @throws `ERR_APPROVAL_REFUSED` unless the condition is true. */
export function ensure(condition: unknown, reason: () => string): asserts condition {
  if (!condition) refuse(reason());
}

/** Facts by name. Two projects with equal facts can do the same. */
export type Facts = Readonly<Record<string, string>>;

export interface Pins {
  readonly multisig: Address;
  readonly owner: Address;
  readonly operator: Address;
  readonly vaultIndex: number;
  readonly mint: Address;
  /** Missing: only the addresses are pinned. */
  readonly facts?: Facts;
}

const ABSENT = 'none';

/** Facts that are not as pinned, before and now. */
export function driftOf(pinned: Facts, actual: Facts) {
  const names = [...new Set([...Object.keys(pinned), ...Object.keys(actual)])].sort();
  return names.flatMap((fact) => {
    const before = pinned[fact] ?? ABSENT;
    const now = actual[fact] ?? ABSENT;
    return before === now ? [] : [{ fact, before, now }];
  });
}

/** @throws `ERR_APPROVAL_REFUSED` with each changed fact, before and after. */
export function requireUnchanged(pinned: Facts, actual: Facts): void {
  const drift = driftOf(pinned, actual);
  if (drift.length === 0) return;
  const changes = drift.map(({ fact, before, now }) => `${fact} was ${before} and is ${now}`);
  refuse(`The project differs from its pins: ${changes.join('; ')}`);
}
