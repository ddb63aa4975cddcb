/** Decides, by rules and a seed, what goes wrong with which request and transaction of a test cluster. */
import { createHash } from 'node:crypto';

/** Faults of a whole answer, the most drastic first. */
const ANSWER_FAULTS = ['hang', 'hangup', 'busy', 'unavailable', 'wrong', 'unanswered'] as const;

/** How an answer may be wrong. */
export type WrongAnswer = 'html' | 'text' | 'id' | 'shape' | 'empty' | 'cut';

/** One rule: a fault, how often it comes, and to which methods. */
export interface FaultRule {
  /**
   * Of a transaction: `drop` (it goes nowhere), `late` (it waits for some slots), `duplicate`, `reorder` (it changes places in its
   * block), `expire` (it waits until its blockhash is too old), `rollback` (its block is on a fork). Of an answer: `busy` (429),
   * `unavailable` (503), `wrong`, `hang` (nothing is done), `unanswered` (it is done), `hangup`, `behind` (from an older state),
   * `prune` (older blocks are gone).
   */
  readonly fault:
    | (typeof ANSWER_FAULTS)[number]
    | 'drop'
    | 'late'
    | 'duplicate'
    | 'reorder'
    | 'expire'
    | 'rollback'
    | 'behind'
    | 'prune';
  /** How often it comes, from 0 to 1. @default 1 */
  readonly rate?: number;
  /** Methods that it may come to. @default all */
  readonly methods?: readonly string[];
  /** How often it may come in all. @default without end */
  readonly times?: number;
  /** Occasions that are let pass first. @default 0 */
  readonly after?: number;
  /** @default late and rollback 5, behind 20, prune 100 */
  readonly slots?: number;
  /** To wait. @default 1 */
  readonly seconds?: number;
  /** Is it forgotten with its fork? Else it lands once more. @default false */
  readonly lost?: boolean;
  /** @default html */
  readonly as?: WrongAnswer;
}

/** What is done to a transaction on its way. */
export interface Fate {
  readonly lateSlots: number;
  readonly isTwice: boolean;
  readonly isShuffled: boolean;
  readonly isHeld: boolean;
  /** Slots for which its block is on a fork that comes to nothing; 0 for none. */
  readonly forkSlots: number;
  readonly isLost: boolean;
}

const RANGE = 2 ** 32;

/** Numbers from 0 up to 1, the same for the same seed. @param name - tells several of one seed apart. */
export function seededRandom(seed: number, name: string): () => number {
  let drawn = 0;
  return () => {
    drawn += 1;
    return createHash('sha256').update(`${seed} ${name} ${drawn}`).digest().readUInt32LE(0) / RANGE;
  };
}

interface Rule {
  readonly rule: FaultRule;
  comes(method: string): boolean;
}

function ruleOf(rule: FaultRule, random: () => number): Rule {
  let [occasions, left] = [0, rule.times ?? Number.POSITIVE_INFINITY];
  return {
    rule,
    comes(method) {
      if (rule.methods !== undefined && !rule.methods.includes(method)) return false;
      occasions += 1;
      if (occasions <= (rule.after ?? 0) || left <= 0 || random() >= (rule.rate ?? 1)) return false;
      left -= 1;
      return true;
    },
  };
}

/** The faults of one node; they may be changed while it runs. */
export class Faults {
  readonly #seed: number;
  #rules: readonly Rule[] = [];
  readonly #held = new Set<string>();

  constructor(rules: readonly FaultRule[], seed: number) {
    this.#seed = seed;
    this.set(rules);
  }

  /** Puts these rules in the place of those that hold. */
  set(rules: readonly FaultRule[]): void {
    this.#rules = rules.map((rule, at) => ruleOf(rule, seededRandom(this.#seed, `fault ${at}`)));
  }

  /** What goes wrong with the answer to a call. */
  forCall(method: string): { readonly lagSlots: number; readonly answer: FaultRule | undefined } {
    const behind = this.#drawn('behind', method);
    const lagSlots = behind === undefined ? 0 : (behind.slots ?? 20);
    for (const fault of ANSWER_FAULTS) {
      const answer = this.#drawn(fault, method);
      if (answer !== undefined) return { lagSlots, answer };
    }
    return { lagSlots, answer: undefined };
  }

  /** What becomes of a transaction that was taken; `null`: nothing, it goes nowhere. */
  forTransaction(signature: string): Fate | null {
    const drawn = (fault: FaultRule['fault']) => this.#drawn(fault, 'sendTransaction');
    if (drawn('drop') !== undefined) return null;
    if (drawn('expire') !== undefined) this.#held.add(signature);
    const [rollback, late] = [drawn('rollback'), drawn('late')];
    return {
      isHeld: this.#held.has(signature),
      lateSlots: late === undefined ? 0 : (late.slots ?? 5),
      isTwice: drawn('duplicate') !== undefined,
      isShuffled: drawn('reorder') !== undefined,
      forkSlots: rollback === undefined ? 0 : (rollback.slots ?? 5),
      isLost: rollback?.lost === true,
    };
  }

  /** Slots of which the node still has the blocks; `null`: all. */
  get keptSlots(): number | null {
    const prune = this.#rules.find(({ rule }) => rule.fault === 'prune')?.rule;
    return prune === undefined ? null : (prune.slots ?? 100);
  }

  #drawn(fault: FaultRule['fault'], method: string): FaultRule | undefined {
    return this.#rules.find(({ rule, comes }) => rule.fault === fault && comes(method))?.rule;
  }
}
