/** One world of a seed: sets it up, runs its persons, brings it to rest, and audits it throughout. */
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../fuzz/random.js';
import { Auditor, Broken } from './audit/auditor.js';
import { FILES } from './audit/tables.js';
import { Faults } from './faults.js';
import { Goods } from './goods.js';
import { type World as Drawn, drawWorld, type Mode } from './kinds.js';
import { Machine } from './machine.js';
import { openLedger } from './opening.js';
import { Others } from './others.js';
import { type Office, Person } from './person.js';
import { running, seedPlatform } from './platform.js';
import type { ChainWatch, LocalChain } from './ports.js';
import type { SimProcess } from './process.js';
import { bringToRest } from './rest.js';
import { Scheduler, type Walker } from './scheduler.js';
import { BASE, START_MS, type Template, templateOf } from './template.js';

export interface RunOptions {
  readonly seed: number;
  readonly mode: Mode;
  readonly say?: (line: string) => void;
}

export interface RunResult {
  readonly kind: string;
  readonly broken: Error | null;
  readonly steps: number;
  readonly faults: number;
  readonly actions: number;
}

const MAX_STEPS = 60_000;
/** Delays of bytes on the network: none, a few steps, one command, several commands. */
const DELAYS_MS = [0, 100, 500, 2_000] as const;

const stream = (seed: number, use: number): Random => {
  const random = new Random(seed * 16 + use);
  for (let count = 0; count < 8; count += 1) random.bits();
  return random;
};

export async function runWorld(options: RunOptions): Promise<RunResult> {
  const drawn = drawWorld(options.seed, options.mode, stream(options.seed, 7));
  const template = await templateOf(drawn);
  const home = mkdtempSync(join(BASE, 'flywheel-sim-'));
  try {
    cpSync(template.home, home, { recursive: true });
    // The alias of the data directory.
    symlinkSync(join(home, 'data'), join(home, 'alias'));
    return await new World(home, template, drawn, options).live();
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

class World implements ChainWatch, Walker {
  readonly name = 'world';
  readonly #drawn: Drawn;
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #faults: Faults;
  readonly #machine: Machine;
  readonly #auditor: Auditor;
  readonly #office: Office;
  readonly #others: Others;
  readonly #isRemote: boolean;
  #broken: Error | null = null;
  #isOver = false;
  /** Belongs to no process; delivers delayed bytes. */
  #chain: Promise<LocalChain> | undefined;

  constructor(home: string, template: Template, drawn: Drawn, options: RunOptions) {
    const { seed, mode, say = () => undefined } = options;
    say(`a world of the kind "${drawn.kind}": ${JSON.stringify(drawn)}`);
    this.#drawn = drawn;
    this.#random = stream(seed, 1);
    this.#scheduler = new Scheduler(stream(seed, 2), START_MS, say);
    seedPlatform(stream(seed, 0), () => this.#scheduler.nowMs);
    this.#faults = new Faults(stream(seed, 3), drawn.faults, say);
    this.#isRemote = mode === 'remote';
    const places = { home, dataDir: join(home, 'data') };
    const file = (name: string): string => join(places.dataDir, name);
    this.#others = new Others(file(FILES.ledger), stream(seed, 8), template.wallets);
    this.#machine = new Machine(
      places,
      {
        scheduler: this.#scheduler,
        faults: this.#faults,
        others: this.#others,
      },
      { isRemote: this.#isRemote, random: stream(seed, 4), watch: this },
    );
    const goods = new Goods(stream(seed, 5), home, drawn.papers);
    this.#auditor = new Auditor(file(FILES.ledger), file(FILES.store), goods, template.opening);
    this.#office = {
      machine: this.#machine,
      scheduler: this.#scheduler,
      random: stream(seed, 6),
      goods,
      auditor: this.#auditor,
      habits: drawn.habits,
      say,
      running: new Set(),
      seen: new Set(),
      narrowed: new Set(),
      actions: 0,
    };
  }

  landed(process: SimProcess): void {
    this.#audit((running.getStore() ?? process).name);
  }

  /** Bytes that their sender believes lost, and that arrive later. */
  onTheWay(process: SimProcess, deliver: (chain: LocalChain) => Promise<unknown>): void {
    const { name } = running.getStore() ?? process;
    const arrive = async (): Promise<void> => {
      const dueMs = this.#scheduler.timeMs + this.#random.pick(DELAYS_MS);
      await this.#scheduler.reach(this, `bytes of ${name} arrive`, dueMs);
      this.#chain ??= openLedger(this.#machine.places.dataDir, () => this.#scheduler.nowMs);
      await deliver(await this.#chain);
      this.#audit(`${name}, late`);
    };
    this.#watch(arrive());
  }

  /** A violation ends the run, not the process in which it was found. */
  #audit(by: string): void {
    try {
      this.#auditor.look(by);
    } catch (error) {
      this.#broken ??= error as Error;
    }
  }

  async live(): Promise<RunResult> {
    const persons = Array.from(
      { length: this.#drawn.persons },
      (_, index) => new Person(`person${index}`, this.#office),
    );
    this.#watch(this.#scenario(persons));
    try {
      await this.#scheduler.run(() => this.#afterStep(), MAX_STEPS);
      if (!this.#isOver) throw new Broken('end', `not over after ${this.#scheduler.steps} steps`);
    } catch (error) {
      this.#broken ??= error as Error;
    }
    this.#auditor.close();
    this.#others.close();
    await (await this.#chain)?.close();
    return {
      kind: this.#drawn.kind,
      broken: this.#broken,
      steps: this.#scheduler.steps,
      faults: this.#faults.count,
      actions: this.#office.actions,
    };
  }

  async #scenario(persons: readonly Person[]): Promise<void> {
    if (this.#isRemote) this.#watch(this.#keepServers());
    const [least, most] = this.#drawn.actions;
    const count = (): number => least + this.#random.below(most - least + 1);
    await Promise.all(persons.map((person) => person.work(count())));
    this.#faults.stop();
    await bringToRest(this.#office);
    this.#isOver = true;
    this.#machine.stop();
  }

  async #keepServers(): Promise<void> {
    while (!this.#isOver) {
      if (this.#machine.servers.length < this.#drawn.servers) await this.#machine.serve();
      await this.#scheduler.reach(this, 'looks after the servers', this.#scheduler.timeMs + 1_000);
    }
  }

  #afterStep(): void {
    if (this.#broken !== null) throw this.#broken;
  }

  #watch(work: Promise<unknown>): void {
    work.catch((error: Error) => {
      this.#broken ??= error;
    });
  }
}
