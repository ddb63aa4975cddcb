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

interface Flight {
  readonly burns: readonly { readonly amount: bigint }[];
  /** Resolves when it has come to its end, whichever. */
  readonly ended: Promise<void>;
}

export class Flights {
  /** Burns of one chunk at most. */
  readonly chunkBurns: number;
  /** How many chunks may be under way while the next one is written. */
  readonly #beside: number;
  readonly #flights = new Set<Flight>();
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
  async begin(burns: Flight['burns'], bring: () => Promise<void>): Promise<void> {
    if (burns.length === 0) return;
    const ended = bring()
      .catch((cause: unknown) => {
        this.#failure ??= { cause };
      })
      .then(() => void this.#flights.delete(flight));
    const flight: Flight = { burns, ended };
    this.#flights.add(flight);
    while (this.#flights.size > this.#beside && this.#failure === undefined)
      await Promise.race([...this.#flights].map((one) => one.ended));
    if (this.#failure !== undefined) await this.land();
  }

  /** Waits for the end of all that is under way. @throws what one of them has failed with */
  async land(): Promise<void> {
    await this.end();
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  /** Waits for the end of all that is under way, whichever it is. */
  async end(): Promise<void> {
    await Promise.all([...this.#flights].map(({ ended }) => ended));
  }

  get onTheirWay(): OnTheirWay {
    const burns = [...this.#flights].flatMap((flight) => flight.burns);
    return { count: burns.length, amount: burns.reduce((sum, { amount }) => sum + amount, 0n) };
  }
}
