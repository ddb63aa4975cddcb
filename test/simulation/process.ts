/** One simulated process, whose every step can kill, interrupt or refuse it. */
import { setMaxListeners } from 'node:events';
import type { Fault, Faults } from './faults.js';
import type { Others } from './others.js';
import { failure, Killed } from './ports.js';
import type { Nap, Scheduler, Walker } from './scheduler.js';

/** Never resolves: the process is dead. */
const never = <Value>(): Promise<Value> => new Promise<Value>(() => undefined);

export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly others: Pick<Others, 'moveTokens'>;
}

const unwritten = (what: string): Error =>
  failure('ERR_STORE_UNAVAILABLE', `The ${what} cannot be used now: locked, or the disk is full.`);

interface Effect<Value> {
  readonly label: string;
  readonly faults: readonly Fault[];
  readonly refusal: () => Error;
  readonly act: () => Promise<Value>;
  /** The effect takes no steps, and waits for file I/O of other threads. */
  readonly isFiles?: boolean;
  /** Called in place of `act` when the effect happens later or never. */
  readonly later?: () => void;
}

const ENDS: readonly Fault[] = ['kill', 'interrupt', 'jump', 'blocks', 'move'];
const DAY_MS = 86_400_000;
/** Longer than a blockhash is valid. */
const BLOCKHASH_MS = 61_000;

export class SimProcess implements Walker {
  readonly name: string;
  readonly death: Promise<void>;
  readonly #around: Surroundings;
  readonly #controller = new AbortController();
  #die: () => void = () => undefined;
  #closers: (() => unknown)[] = [];
  #alive = true;

  constructor(name: string, around: Surroundings) {
    this.name = name;
    this.#around = around;
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

  get timeMs(): number {
    return this.#around.scheduler.timeMs;
  }

  sleep(ms: number, isAwaited: boolean): Nap {
    const { scheduler } = this.#around;
    const nap = scheduler.sleep(this, `sleep ${ms} ms`, scheduler.timeMs + ms, isAwaited);
    if (!this.#alive) scheduler.drop(this);
    return nap;
  }

  onEnd(closer: () => unknown): void {
    this.#closers.push(closer);
  }

  kill(): void {
    if (!this.#alive) return;
    this.end();
    this.#die();
  }

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

  /** Waits for the process's turn; never resolves after its death. */
  async reach(label: string, dueMs = 0): Promise<void> {
    if (!this.#alive) return never();
    await this.#around.scheduler.reach(this, label, dueMs);
    return this.#alive ? undefined : never();
  }

  /** Draws the step's fault and applies those that concern the whole process. */
  async suffer(faults: readonly Fault[]): Promise<Fault | undefined> {
    const fault = this.#draw([...ENDS, ...faults]);
    if (fault === 'kill') {
      this.kill();
      return never();
    }
    return fault;
  }

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

  /** A synchronous effect. @throws Killed */
  sync<Value>(what: string, act: () => Value): Value {
    this.file(() => unwritten(what));
    const value = act();
    if (this.#draw(['kill']) === 'kill') return this.#dieHere();
    return value;
  }

  /** Precedes a file write. @throws Killed */
  file(full: () => Error): void {
    if (!this.#alive) throw new Killed();
    const fault = this.#draw(['kill', 'full']);
    if (fault === 'kill') this.#dieHere();
    if (fault === 'full') throw full();
  }

  #dieHere(): never {
    this.kill();
    throw new Killed();
  }

  #draw(faults: readonly Fault[]): Fault | undefined {
    const fault = this.#around.faults.draw(faults);
    if (fault === 'interrupt') this.interrupt();
    if (fault === 'jump') this.#jump();
    if (fault === 'blocks') this.#around.scheduler.jump(BLOCKHASH_MS);
    if (fault === 'move') this.#around.others.moveTokens();
    return fault;
  }

  /** Sets the clock: mostly by a little, sometimes to another day, rarely to another month, or back. */
  #jump(): void {
    const { scheduler } = this.#around;
    const ms = [90_000, 3_600_000, DAY_MS, -3_600_000, -DAY_MS, 31 * DAY_MS];
    scheduler.jump(ms[scheduler.steps % ms.length] ?? 0);
  }
}
