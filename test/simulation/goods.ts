/** Burns and pipelines with distinct amounts, so that each is recognizable on chain, and the files that contain them. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../fuzz/random.js';

/** One burn or pipeline. No two items of a world burn the same amount. */
export interface Item {
  readonly name: string;
  readonly kind: 'burn' | 'pipeline';
  /** Base units burned. */
  readonly burns: bigint;
  /** Base units airdropped. */
  readonly gives: bigint;
  /** SHA-256 of its proof, which is in a pipeline's memo and in a burn's result. */
  readonly hash: string;
  readonly isPersisted: boolean;
  /** The number of times it may land. */
  allowed: number;
}

export interface Paper {
  readonly name: string;
  readonly kind: 'burns' | 'pipelines';
  readonly items: readonly Item[];
}

export const DECIMALS = 6;
const UNITS = 1_000_000n;
/** Whole tokens of the smallest item; a cap allows a few items. */
const LEAST_TOKENS = 30;
export const RECIPIENT = 'GsGhAyeZKZKLTQvPuREZA74JbhyjH64ACWMHy31Sd3zz';

const text = (units: bigint): string => `${units / UNITS}.${String(units % UNITS).padStart(DECIMALS, '0')}`;

export class Goods {
  readonly items: Item[] = [];
  readonly papers: Paper[] = [];
  readonly #random: Random;
  readonly #directory: string;

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
    // A changed file: some items of another file, and a new item.
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

export const burnWords = ({ name, burns, isPersisted }: Item): readonly string[] => [
  'burn',
  ...['--type', 'PRODUCT_BUY', '--proof', JSON.stringify({ order: name }), '--amount', text(burns)],
  ...(isPersisted ? ['--persist-onchain'] : []),
];
