/** Decides by seed which fault strikes at each step. */
import type { Random } from '../fuzz/random.js';

/**
 * Faults of a step: the process dies or is interrupted; the operation is refused; its answer is lost by the network or withheld
 * by the chain; the request arrives late, is rejected by a proxy, or arrives twice; the disk is full; the clock is set; enough
 * blocks pass to expire blockhashes; the owner moves tokens out of the vault or into it.
 */
export const FAULTS = [
  'kill',
  'interrupt',
  'refuse',
  'lose',
  'mute',
  'late',
  'door',
  'twice',
  'full',
  'jump',
  'blocks',
  'move',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Each fault strikes once in this many steps at scale 1; a world scales each of them. */
const ONE_IN: Readonly<Record<Fault, number>> = {
  kill: 45,
  interrupt: 150,
  refuse: 70,
  lose: 12,
  mute: 12,
  late: 20,
  door: 10,
  twice: 16,
  full: 25,
  jump: 150,
  blocks: 400,
  move: 60,
};

export class Faults {
  readonly #random: Random;
  readonly #say: (line: string) => void;
  readonly #rates = new Map<Fault, number>();
  #count = 0;
  #on = true;

  /** @param scales - factor on the frequency of each fault. */
  constructor(random: Random, scales: Readonly<Record<Fault, number>>, say: (line: string) => void) {
    this.#random = random;
    this.#say = say;
    for (const fault of FAULTS) {
      const scale = scales[fault];
      this.#rates.set(fault, scale === 0 ? 0 : Math.ceil(ONE_IN[fault] / scale));
    }
  }

  get count(): number {
    return this.#count;
  }

  stop(): void {
    this.#on = false;
  }

  /** The fault that strikes this step, out of the possible ones. */
  draw(of: readonly Fault[]): Fault | undefined {
    let struck: Fault | undefined;
    for (const fault of of) {
      const rate = this.#rates.get(fault) ?? 0;
      if (rate > 0 && this.#random.oneIn(rate)) struck ??= fault;
    }
    if (!this.#on || struck === undefined) return undefined;
    this.#count += 1;
    this.#say(`  fault ${this.#count}: ${struck}`);
    return struck;
  }
}

export const NO_FAULTS = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Readonly<
  Record<Fault, number>
>;
