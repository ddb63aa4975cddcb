/** Decides, by rules and a seed, what goes wrong with which request, transaction and notification. */
import type { Signature } from '../../chain/chain.js';
import { type Fate, NO_FATE } from '../pending.js';
import type { FaultName, FaultRule, WrongAnswer } from './fault-rules.js';
import { seededRandom } from './random.js';

/** What goes wrong with one request; at most one of all but `lagSlots`. */
export interface CallFault {
  /** Slots by which the node is behind for it. */
  readonly lagSlots: number;
  readonly kind: 'none' | 'busy' | 'unavailable' | 'wrong' | 'hang' | 'unanswered' | 'hangup';
  readonly retryAfterSeconds: number;
  readonly wrongAs: WrongAnswer;
}

/** Faults of a whole answer, the most drastic first. */
const ANSWER_FAULTS = ['hang', 'hangup', 'busy', 'unavailable', 'wrong', 'unanswered'] as const;

class Rule {
  readonly rule: FaultRule;
  readonly #random: () => number;
  #occasions = 0;
  #left: number;

  constructor(rule: FaultRule, random: () => number) {
    this.rule = rule;
    this.#random = random;
    this.#left = rule.times ?? Number.POSITIVE_INFINITY;
  }

  comes(method: string): boolean {
    const { methods, after = 0, rate = 1 } = this.rule;
    if (methods !== undefined && !methods.includes(method)) return false;
    this.#occasions += 1;
    if (this.#occasions <= after || this.#left <= 0 || this.#random() >= rate) return false;
    this.#left -= 1;
    return true;
  }
}

/** The faults of one node; they may be changed while it runs. */
export class Faults {
  readonly seed: number;
  #rules: readonly Rule[] = [];
  readonly #held = new Set<Signature>();

  constructor(rules: readonly FaultRule[], seed: number) {
    this.seed = seed;
    this.set(rules);
  }

  /** Puts these rules in the place of those that hold. */
  set(rules: readonly FaultRule[]): void {
    this.#rules = rules.map((rule, at) => new Rule(rule, seededRandom(this.seed, `fault ${at}`)));
  }

  forCall(method: string): CallFault {
    const lagSlots = this.#drawn('behind', method)?.slots ?? 0;
    for (const kind of ANSWER_FAULTS) {
      const rule = this.#drawn(kind, method);
      if (rule === undefined) continue;
      return { lagSlots, kind, retryAfterSeconds: rule.seconds ?? 1, wrongAs: rule.as ?? 'html' };
    }
    return { lagSlots, kind: 'none', retryAfterSeconds: 0, wrongAs: 'html' };
  }

  /** What becomes of a transaction that was taken; `null`: nothing, it goes nowhere. */
  forTransaction(signature: Signature): Fate | null {
    const drawn = (fault: FaultName): FaultRule | undefined => this.#drawn(fault, 'sendTransaction');
    if (drawn('drop') !== undefined) return null;
    if (drawn('expire') !== undefined) this.#held.add(signature);
    const rollback = drawn('rollback');
    return {
      ...NO_FATE,
      isHeld: this.#held.has(signature),
      lateSlots: drawn('late')?.slots ?? 0,
      isTwice: drawn('duplicate') !== undefined,
      isShuffled: drawn('reorder') !== undefined,
      forkSlots: rollback?.slots ?? 0,
      isLost: rollback?.lost === true,
    };
  }

  /** How often a notification is sent. @param method - the one that subscribed. */
  copiesOf(method: string): number {
    if (this.#drawn('mute', method) !== undefined) return 0;
    return this.#drawn('duplicate', method) === undefined ? 1 : 2;
  }

  /** Slots of which the node still has the blocks; `null`: all. */
  get keptSlots(): number | null {
    return this.#rules.find(({ rule }) => rule.fault === 'prune')?.rule.slots ?? null;
  }

  #drawn(fault: FaultName, method: string): FaultRule | undefined {
    return this.#rules.find((each) => each.rule.fault === fault && each.comes(method))?.rule;
  }
}
