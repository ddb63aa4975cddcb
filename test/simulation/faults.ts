/** What goes wrong and when: decided by the seed at every step, each time under a number, so that it can be left out again. */
import type { Random } from '../fuzz/random.js';

/** What can befall a step. */
export type Fault = 'kill' | 'interrupt' | 'refuse' | 'lose' | 'late' | 'door' | 'twice' | 'full' | 'jump';

/** Once in so many steps each fault strikes, at 1; a seed scales each of them. */
const ONE_IN: Readonly<Record<Fault, number>> = {
  kill: 45,
  interrupt: 150,
  refuse: 70,
  lose: 12,
  late: 20,
  door: 10,
  twice: 16,
  full: 25,
  jump: 150,
};

export class Faults {
  readonly #random: Random;
  readonly #left: ReadonlySet<number>;
  readonly #say: (line: string) => void;
  readonly #rates = new Map<Fault, number>();
  #count = 0;
  #on = true;

  /** @param left - numbers of faults that are left out. */
  constructor(random: Random, left: ReadonlySet<number>, say: (line: string) => void) {
    this.#random = random;
    this.#left = left;
    this.#say = say;
    for (const fault of Object.keys(ONE_IN) as Fault[]) {
      // Some seeds know a fault not at all, some suffer from it all the time.
      const scale = random.pick([0, 0.5, 1, 1, 2, 4]);
      this.#rates.set(fault, scale === 0 ? 0 : Math.ceil(ONE_IN[fault] / scale));
    }
  }

  /** Faults that have struck so far. */
  get count(): number {
    return this.#count;
  }

  stop(): void {
    this.#on = false;
  }

  /** The fault of this step, if any of those that can befall it strikes. */
  draw(of: readonly Fault[]): Fault | undefined {
    let struck: Fault | undefined;
    for (const fault of of) {
      const rate = this.#rates.get(fault) ?? 0;
      if (rate > 0 && this.#random.oneIn(rate)) struck ??= fault;
    }
    if (!this.#on || struck === undefined) return undefined;
    this.#count += 1;
    if (this.#left.has(this.#count)) return undefined;
    this.#say(`  fault ${this.#count}: ${struck}`);
    return struck;
  }
}
