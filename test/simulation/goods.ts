/** What persons want done: burns and pipelines that can be told apart on chain, and the files that they stand in. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../fuzz/random.js';

/** One burn or one pipeline. No two of a world burn the same amount. */
export interface Item {
  readonly name: string;
  readonly kind: 'burn' | 'pipeline';
  /** Base units that it burns. */
  readonly burns: bigint;
  /** Base units that it gives away. */
  readonly gives: bigint;
  /** SHA-256 of its proof, which stands in the memo of a pipeline and in the result of a burn. */
  readonly hash: string;
  readonly isPersisted: boolean;
  /** How often it may land. */
  allowed: number;
}

/** A file that commands are given. */
export interface Paper {
  readonly name: string;
  readonly kind: 'burns' | 'pipelines';
  readonly items: readonly Item[];
}

export const DECIMALS = 6;
const UNITS = 1_000_000n;
/** Whole tokens of the smallest item; caps hold a few of them. */
const LEAST_TOKENS = 30;
export const RECIPIENT = 'GsGhAyeZKZKLTQvPuREZA74JbhyjH64ACWMHy31Sd3zz';

const text = (units: bigint): string => `${units / UNITS}.${String(units % UNITS).padStart(DECIMALS, '0')}`;

export class Goods {
  readonly items: Item[] = [];
  readonly papers: Paper[] = [];
  readonly #random: Random;
  readonly #directory: string;

  /** @param most - files of each sort. */
  constructor(random: Random, directory: string, most: number) {
    this.#random = random;
    this.#directory = directory;
    const burns = this.#some(1, most, () =>
      this.#paper(
        'burns',
        this.#some(1, 4, () => this.item('burn')),
      ),
    );
    const pipes = this.#some(1, most, () =>
      this.#paper(
        'pipelines',
        this.#some(1, 5, () => this.item('pipeline')),
      ),
    );
    // A changed file: some of another one, and something new.
    const [first] = random.oneIn(2) ? burns : pipes;
    if (first !== undefined && random.oneIn(2)) this.change(first);
  }

  item(kind: Item['kind']): Item {
    const index = this.items.length;
    const name = `${kind}-${index}`;
    const item: Item = {
      name,
      kind,
      burns: BigInt(LEAST_TOKENS + this.#random.below(40)) * UNITS + BigInt(index + 1),
      gives: kind === 'pipeline' && this.#random.oneIn(2) ? 7n * UNITS : 0n,
      hash: createHash('sha256')
        .update(JSON.stringify({ order: name }))
        .digest('hex'),
      isPersisted: this.#random.oneIn(2),
      allowed: 1,
    };
    this.items.push(item);
    return item;
  }

  /** Another file with some of the same items. */
  change(paper: Paper): Paper {
    const kept = paper.items.filter(() => !this.#random.oneIn(3));
    return this.#paper(paper.kind, [...kept, this.item(paper.kind === 'burns' ? 'burn' : 'pipeline')]);
  }

  #some<Thing>(least: number, most: number, make: () => Thing): Thing[] {
    return Array.from({ length: least + this.#random.below(most - least + 1) }, make);
  }

  #paper(kind: Paper['kind'], items: readonly Item[]): Paper {
    const paper: Paper = { name: `${kind}-${this.papers.length}.json`, kind, items };
    const content = kind === 'burns' ? items.map(burnOf) : { pipelines: items.map(pipelineOf) };
    writeFileSync(join(this.#directory, paper.name), JSON.stringify(content));
    this.papers.push(paper);
    return paper;
  }
}

const burnOf = ({ name, burns, isPersisted }: Item) => ({
  type: 'PRODUCT_BUY',
  proof: { order: name },
  burnAmount: Number(text(burns)),
  persistOnchain: isPersisted,
});

const pipelineOf = ({ name, burns, gives }: Item) => ({
  type: 'WATCH_AD',
  payload: { order: name },
  actions: [
    { action: 'BURN', amount: text(burns) },
    ...(gives === 0n ? [] : [{ action: 'AIRDROP', toAddress: RECIPIENT, amount: text(gives) }]),
  ],
});

/** The words of a single burn. */
export const burnWords = ({ name, burns, isPersisted }: Item): readonly string[] => [
  'burn',
  ...['--type', 'PRODUCT_BUY', '--proof', JSON.stringify({ order: name }), '--amount', text(burns)],
  ...(isPersisted ? ['--persist-onchain'] : []),
];
