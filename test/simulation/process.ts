/** One simulated process: it takes steps, and it may die, be interrupted or be refused something at each of them. */
import { setMaxListeners } from 'node:events';
import type { Fault, Faults } from './faults.js';
import type { Others } from './others.js';
import { failure, Killed } from './ports.js';
import type { Scheduler, Walker } from './scheduler.js';

/** What a process never comes back from. */
const never = <Value>(): Promise<Value> => new Promise<Value>(() => undefined);

/** What every process of a world shares. */
export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly others: Pick<Others, 'passBlocks' | 'moveTokens'>;
}

const unwritten = (what: string): Error =>
  failure('ERR_STORE_UNAVAILABLE', `The ${what} cannot be used now: locked, or the disk is full.`);

/** How an effect behind a port can fail. */
export interface Effect<Value> {
  readonly label: string;
  readonly faults: readonly Fault[];
  readonly refusal: () => Error;
  readonly act: () => Promise<Value>;
  /** It takes no steps of its own, and waits for what other threads do to files. */
  readonly isFiles?: boolean;
  /** Called in place of the act when it is to happen later, or not at all. */
  readonly later?: () => void;
}

const ENDS: readonly Fault[] = ['kill', 'interrupt', 'jump', 'blocks', 'move'];
const DAY_MS = 86_400_000;

export class SimProcess implements Walker {
  readonly name: string;
  /** Resolves when it has been killed. */
  readonly death: Promise<void>;
  readonly #around: Surroundings;
  readonly #controller = new AbortController();
  readonly #isExempt: boolean;
  #die: () => void = () => undefined;
  #closers: (() => unknown)[] = [];
  #alive = true;

  /** @param isExempt - nothing befalls it, as is so for what sets a world up. */
  constructor(name: string, around: Surroundings, isExempt = false) {
    this.name = name;
    this.#around = around;
    this.#isExempt = isExempt;
    setMaxListeners(0, this.#controller.signal);
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What the system closes when the process is gone. */
  onEnd(closer: () => unknown): void {
    this.#closers.push(closer);
  }

  kill(): void {
    if (!this.#alive) return;
    this.end();
    this.#die();
  }

  /** It is over, one way or the other: the system lets go of all that it held. */
  end(): void {
    if (!this.#alive) return;
    this.#alive = false;
    const { scheduler } = this.#around;
    scheduler.drop(this);
    const closers = this.#closers.splice(0).reverse();
    scheduler.finish(
      (async () => {
        for (const close of closers) await close();
      })(),
    );
  }

  interrupt(): void {
    this.#controller.abort();
  }

  /** Waits for its turn; whoever is dead waits for ever. */
  async reach(label: string, dueMs = 0): Promise<void> {
    if (!this.#alive) return never();
    await this.#around.scheduler.reach(this, label, dueMs);
    return this.#alive ? undefined : never();
  }

  /** Draws the fault of a step and sees to those that are about the process as a whole. */
  async suffer(faults: readonly Fault[]): Promise<Fault | undefined> {
    const fault = this.#draw([...ENDS, ...faults]);
    if (fault === 'kill') {
      this.kill();
      return never();
    }
    return fault;
  }

  /** An effect between two steps. */
  async port<Value>({ label, faults, refusal, act, later, isFiles }: Effect<Value>): Promise<Value> {
    await this.reach(`${label} …`);
    const fault = await this.suffer(faults);
    if (fault === 'refuse') throw refusal();
    if (fault === 'late') {
      later?.();
      throw refusal();
    }
    const acting = act();
    if (isFiles) this.#around.scheduler.finish(acting);
    const result = await acting.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await this.reach(`… ${label}`);
    await this.suffer([]);
    if ('error' in result) throw result.error;
    if (fault === 'mute') throw refusal();
    return result.value;
  }

  /** An effect of a port that does not wait. @throws Killed */
  sync<Value>(what: string, act: () => Value): Value {
    if (!this.#alive) throw new Killed();
    const fault = this.#draw(['kill', 'full']);
    if (fault === 'kill') return this.#dieHere();
    if (fault === 'full') throw unwritten(what);
    const value = act();
    if (this.#draw(['kill']) === 'kill') return this.#dieHere();
    return value;
  }

  /** A file is about to be written. @throws what the system would. */
  file(what: string): void {
    if (!this.#alive) throw new Killed();
    const fault = this.#draw(['kill', 'full']);
    if (fault === 'kill') this.#dieHere();
    if (fault === 'full') throw Object.assign(new Error(what), { code: 'ENOSPC' });
  }

  #dieHere(): never {
    this.kill();
    throw new Killed();
  }

  #draw(faults: readonly Fault[]): Fault | undefined {
    if (this.#isExempt) return undefined;
    const fault = this.#around.faults.draw(faults);
    if (fault === 'interrupt') this.interrupt();
    if (fault === 'jump') this.#jump();
    if (fault === 'blocks') this.#around.others.passBlocks();
    if (fault === 'move') this.#around.others.moveTokens();
    return fault;
  }

  /** A clock that is set: mostly a little, sometimes to another day, rarely to another month; or back. */
  #jump(): void {
    const { scheduler } = this.#around;
    const ms = [90_000, 3_600_000, DAY_MS, -3_600_000, -DAY_MS, 31 * DAY_MS];
    scheduler.jump(ms[scheduler.steps % ms.length] ?? 0);
  }
}
