/** Chunks of burns that are on their way at the same time: how many may be, what they take, and how each of them ends. */
import type { Chain } from '../../chain/chain.js';

/** Burns of one chunk at most, and of all that are on their way, where a chain takes its time. */
const CHUNK_BURNS = 64;
const BURNS_ON_THEIR_WAY = 256;

/** What burns that may or may not have landed take from their wallet. */
export interface OnTheirWay {
  readonly count: number;
  /** Base units. */
  readonly amount: bigint;
}

export class Flights {
  /** Burns of one chunk at most. */
  readonly chunkBurns: number;
  /** How many chunks may be under way while the next one is written. */
  readonly #beside: number;
  /** The end of each chunk, whichever it is, and its burns. */
  readonly #flights = new Map<Promise<void>, readonly Pick<OnTheirWay, 'amount'>[]>();
  #failure: { readonly cause: unknown } | undefined;

  /** Where the end of what is submitted is known at once, one chunk follows the other. */
  constructor({ pollMs }: Pick<Chain, 'pollMs'>, burnsPerCommit: number) {
    this.chunkBurns = pollMs === null ? burnsPerCommit : Math.min(burnsPerCommit, CHUNK_BURNS);
    this.#beside = pollMs === null ? 0 : Math.floor(BURNS_ON_THEIR_WAY / this.chunkBurns) - 1;
  }

  /**
   * Begins to bring burns to their end, and waits until the next chunk may be written.
   * @throws what one of those under way has failed with, once all of them have ended.
   */
  async begin(burns: readonly Pick<OnTheirWay, 'amount'>[], bring: () => Promise<void>): Promise<void> {
    if (burns.length === 0) return;
    const ended: Promise<void> = bring()
      .catch((cause: unknown) => {
        this.#failure ??= { cause };
      })
      .then(() => void this.#flights.delete(ended));
    this.#flights.set(ended, burns);
    while (this.#flights.size > this.#beside && this.#failure === undefined)
      await Promise.race(this.#flights.keys());
    if (this.#failure !== undefined) await this.land();
  }

  /** Waits for the end of all that is under way. @throws what one of them has failed with */
  async land(): Promise<void> {
    await this.end();
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  /** Waits for the end of all that is under way, whichever it is. */
  async end(): Promise<void> {
    await Promise.all(this.#flights.keys());
  }

  get onTheirWay(): OnTheirWay {
    const burns = [...this.#flights.values()].flat();
    return { count: burns.length, amount: burns.reduce((sum, { amount }) => sum + amount, 0n) };
  }
}
