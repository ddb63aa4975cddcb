/**
 * What the owner has confirmed of a flywheel once, and what every batch is held against from then on: its addresses, and the
 * facts that decide who may act for it and what its token allows. All of it is text, so that it can be kept in a file.
 */
import type { Address } from '../values/address.js';
import { refuse } from './refuse.js';

/** Facts by name; two flywheels with equal facts can do the same. */
export type Facts = Readonly<Record<string, string>>;

export interface Pins {
  readonly multisig: Address;
  readonly owner: Address;
  readonly operator: Address;
  readonly vaultIndex: number;
  readonly mint: Address;
  /** Who may act for it, and what its token allows; without them only the addresses are known. */
  readonly facts?: Facts;
}

/** One fact that has changed. */
interface Drift {
  readonly fact: string;
  readonly before: string;
  readonly now: string;
}

/** A fact that is not there. */
const ABSENT = 'none';

/** Every fact that is not as it was, by name. */
export function driftOf(pinned: Facts, actual: Facts): readonly Drift[] {
  const names = [...new Set([...Object.keys(pinned), ...Object.keys(actual)])].sort();
  return names.flatMap((fact) => {
    const before = pinned[fact] ?? ABSENT;
    const now = actual[fact] ?? ABSENT;
    return before === now ? [] : [{ fact, before, now }];
  });
}

/** @throws `ERR_APPROVAL_REFUSED` naming each fact that has changed, before and after. */
export function requireUnchanged(pinned: Facts, actual: Facts): void {
  const drift = driftOf(pinned, actual);
  if (drift.length === 0) return;
  const changes = drift.map(({ fact, before, now }) => `${fact} was ${before} and is ${now}`);
  refuse(`The project differs from its pins: ${changes.join('; ')}`);
}
