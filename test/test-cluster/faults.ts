/** Decides by rules and a seed which requests and transactions of a test cluster go wrong, and how. */
import { createHash } from 'node:crypto';

/** In order of precedence. */
const ANSWER_FAULTS = ['hang', 'hangup', 'busy', 'unavailable', 'wrong', 'unanswered'] as const;

export type WrongAnswer = 'html' | 'id';

export interface FaultRule {
  /**
   * Of a transaction: `drop` (never lands), `late` (waits some slots), `duplicate`, `reorder` (changes its position in the
   * block), `expire` (waits until its blockhash expires), `rollback` (its block is on a fork). Of an answer: `busy` (429),
   * `unavailable` (503), `wrong`, `hang` (not executed), `unanswered` (executed), `hangup`, `behind` (older state).
   */
  readonly fault:
    | (typeof ANSWER_FAULTS)[number]
    | 'drop'
    | 'late'
    | 'duplicate'
    | 'reorder'
    | 'expire'
    | 'rollback'
    | 'behind';
  /** Probability from 0 to 1. @default 1 */
  readonly rate?: number;
  /** @default all methods */
  readonly methods?: readonly string[];
  /** The most occurrences. @default unlimited */
  readonly times?: number;
  /** Matching requests that pass first. @default 0 */
  readonly after?: number;
  /** @default late and rollback 5, behind 20 */
  readonly slots?: number;
  /** Delay. @default 1 */
  readonly seconds?: number;
  /** Whether the transaction disappears with its fork; otherwise it lands again. @default false */
  readonly lost?: boolean;
  /** @default html */
  readonly as?: WrongAnswer;
}

export interface Fate {
  readonly lateSlots: number;
  readonly isTwice: boolean;
  readonly isShuffled: boolean;
  readonly isHeld: boolean;
  /** Slots for which its block is on a fork that is dropped later; 0 for none. */
  readonly forkSlots: number;
  readonly isLost: boolean;
}

const RANGE = 2 ** 32;

/** Numbers in [0, 1), the same for the same seed. @param name - separates several sequences of one seed. */
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

export class Faults {
  readonly #seed: number;
  #rules: readonly Rule[] = [];
  readonly #held = new Set<string>();

  constructor(rules: readonly FaultRule[], seed: number) {
    this.#seed = seed;
    this.set(rules);
  }

  set(rules: readonly FaultRule[]): void {
    this.#rules = rules.map((rule, at) => ruleOf(rule, seededRandom(this.#seed, `fault ${at}`)));
  }

  forCall(method: string): { readonly lagSlots: number; readonly answer: FaultRule | undefined } {
    const behind = this.#drawn('behind', method);
    const lagSlots = behind === undefined ? 0 : (behind.slots ?? 20);
    for (const fault of ANSWER_FAULTS) {
      const answer = this.#drawn(fault, method);
      if (answer !== undefined) return { lagSlots, answer };
    }
    return { lagSlots, answer: undefined };
  }

  /** The faults of an accepted transaction; `null`: dropped. */
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

  #drawn(fault: FaultRule['fault'], method: string): FaultRule | undefined {
    return this.#rules.find(({ rule, comes }) => rule.fault === fault && comes(method))?.rule;
  }
}
