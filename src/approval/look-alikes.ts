/**
 * Recipients whose address looks like one that is known and is another. People compare the two ends of an address, and
 * addresses with any ends that somebody wants are cheap to make.
 */
import type { Address } from '../values/address.js';

/** Characters at each end that people compare. */
const END_LENGTH = 4;

/** The two ends of an address as people see them; letters of either case are taken for each other. */
export const endsOf = (address: Address): string =>
  `${address.slice(0, END_LENGTH)}${address.slice(-END_LENGTH)}`.toLowerCase();

/** An address that is known, and from where. */
export interface KnownAddress {
  readonly address: Address;
  /** Completes "…, which is". */
  readonly as: string;
}

export interface LookAlike {
  readonly recipient: Address;
  readonly like: KnownAddress;
}

/** Each recipient that looks like a known address, with the first such; what is `exempt` was allowed by name. */
export function lookAlikes(
  recipients: Iterable<Address>,
  known: Iterable<KnownAddress>,
  exempt: ReadonlySet<Address>,
): readonly LookAlike[] {
  const byEnds = new Map<string, KnownAddress[]>();
  for (const one of known) {
    const ends = endsOf(one.address);
    const alike = byEnds.get(ends);
    if (alike === undefined) byEnds.set(ends, [one]);
    else alike.push(one);
  }
  return [...recipients].flatMap((recipient) => {
    const like = byEnds.get(endsOf(recipient))?.find(({ address }) => address !== recipient);
    return like === undefined || exempt.has(recipient) ? [] : [{ recipient, like }];
  });
}
