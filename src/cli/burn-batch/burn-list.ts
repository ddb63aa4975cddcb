/**
 * The burns of a burn-batch, in parts: what is needed of them is read from where they are kept, so that a million take no more
 * memory than a thousand.
 */
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { fingerprint, type Sha256 } from '../../values/digest.js';
import type { EqualElements, Spool, SpoolPart } from '../journal/spool.js';
import { burnDigests, burnText, equalElements } from '../operation/elements.js';
import { BurnCut } from './cut.js';

/** A part as it is kept. */
interface BurnPart {
  readonly items: readonly BurnRequest[];
  readonly digests: readonly Sha256[];
}

/** What is kept of a list beside its parts. */
interface ListFacts {
  /** Burns of each part; as kept, a part is what one request takes. */
  readonly counts: readonly number[];
  readonly equal: EqualElements | undefined;
}

/** Burns by their numbers in the file, from 0. */
export class BurnList {
  readonly length: number;
  readonly counts: readonly number[];
  readonly equal: EqualElements | undefined;
  readonly #starts: readonly number[];
  readonly #read: (part: number) => BurnPart;
  #latest: { readonly part: number; readonly burns: BurnPart } | undefined;

  constructor({ counts, equal }: ListFacts, read: (part: number) => SpoolPart | BurnPart) {
    let length = 0;
    this.#starts = counts.map((count) => {
      length += count;
      return length - count;
    });
    this.length = length;
    this.counts = counts;
    this.equal = equal;
    this.#read = read as (part: number) => BurnPart;
  }

  /** These burns, in the order of the numbers. */
  pick(indexes: readonly number[]): readonly BurnRequest[] {
    return indexes.flatMap((index) => this.#at(index, ({ items }) => items));
  }

  /** Their digests. */
  digests(indexes: readonly number[]): readonly Sha256[] {
    return indexes.flatMap((index) => this.#at(index, ({ digests }) => digests));
  }

  /** One after the other. @param indexes - `null`: all of them. */
  *each(indexes: readonly number[] | null): Generator<BurnRequest> {
    if (indexes !== null) for (const index of indexes) yield* this.#at(index, ({ items }) => items);
    else for (const part of this.counts.keys()) yield* this.#part(part).items;
  }

  /** The numbers of all whose digest is not one of these. */
  without(digests: ReadonlySet<Sha256>): readonly number[] {
    return this.counts.flatMap((_, part) =>
      this.#part(part).digests.flatMap((digest, at) =>
        digests.has(digest) ? [] : [(this.#starts[part] ?? 0) + at],
      ),
    );
  }

  #at<Value>(index: number, of: (part: BurnPart) => readonly Value[]): readonly Value[] {
    const part = this.#partOf(index);
    const at = index - (this.#starts[part] ?? 0);
    return of(this.#part(part)).slice(at, at + 1);
  }

  #partOf(index: number): number {
    const latest = this.#latest?.part ?? 0;
    const isIn = (part: number): boolean => {
      const start = this.#starts[part] ?? 0;
      return index >= start && index < start + (this.counts[part] ?? 0);
    };
    return isIn(latest) ? latest : this.counts.findIndex((_, part) => isIn(part));
  }

  #part(part: number): BurnPart {
    if (this.#latest?.part !== part) this.#latest = { part, burns: this.#read(part) };
    return this.#latest.burns;
  }
}

/** A list that is in memory. */
export function listOfBurns(burns: readonly BurnRequest[]): BurnList {
  const equal = equalElements(burns.map((burn) => fingerprint({ ...burn })));
  const part: BurnPart = { items: burns, digests: burnDigests(burns) };
  return new BurnList({ counts: [burns.length], equal }, () => part);
}

/**
 * Puts burns away as they are read.
 * @throws whatever reading throws; then nothing of them is to be used.
 */
export async function spoolBurns(spool: Spool, burns: AsyncIterable<BurnRequest>): Promise<BurnList> {
  const cut = new BurnCut();
  let waiting: BurnRequest[] = [];
  const keep = (): void => {
    if (waiting.length > 0) spool.add(waiting, waiting.map(burnText));
    waiting = [];
  };
  for await (const burn of burns) {
    if (cut.begins(burn)) keep();
    waiting.push(burn);
  }
  keep();
  return new BurnList({ counts: spool.counts, equal: spool.equal }, (part) => spool.part(part));
}
