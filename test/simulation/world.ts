/** One world of a seed: set up, lived in, brought to rest, audited all along. */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalChain, openLocalChain } from '../../src/chain/local/local-chain.js';
import { Random } from '../fuzz/random.js';
import { Auditor, Broken, type Opening } from './auditor.js';
import { Faults } from './faults.js';
import { initWords, type Made, openingOf, profileWords, vaultTokens } from './flywheel.js';
import { Goods } from './goods.js';
import { Machine } from './machine.js';
import { type Office, Person } from './person.js';
import { running, seedPlatform } from './platform.js';
import type { ChainWatch } from './ports.js';
import type { SimProcess } from './process.js';
import { bringToRest } from './rest.js';
import { Scheduler, type Walker } from './scheduler.js';

/** What makes a run repeatable, and smaller. */
export interface RunOptions {
  readonly seed: number;
  readonly mode: 'embedded' | 'remote';
  /** Numbers of faults and actions that are left out. */
  readonly withoutFaults?: ReadonlySet<number>;
  readonly withoutActions?: ReadonlySet<number>;
  readonly say?: (line: string) => void;
}

/** How a run ended. */
export interface RunResult {
  readonly broken: Error | null;
  readonly steps: number;
  readonly faults: number;
  readonly actions: number;
}

const START_MS = Date.parse('2026-01-31T22:30:00.000Z');
const MAX_STEPS = 60_000;
const BASE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

interface Template {
  readonly home: string;
  readonly opening: Opening;
}

/** By the tokens of the vault. */
const templates = new Map<string, Template>();

const stream = (seed: number, use: number): Random => {
  const random = new Random(seed * 16 + use);
  for (let count = 0; count < 8; count += 1) random.bits();
  return random;
};

const nowhere: ChainWatch = { landed: () => undefined, onTheWay: () => undefined };

/** Runs one command without faults, outside of any world's time. */
async function setUp(home: string, commands: readonly (readonly string[])[], stdin = ''): Promise<string[]> {
  const scheduler = new Scheduler(new Random(1), START_MS, () => undefined);
  const faults = new Faults(new Random(1), new Set(), () => undefined);
  faults.stop();
  const places = { home, dataDir: join(home, 'data') };
  const machine = new Machine(
    places,
    { scheduler, faults },
    {
      // `profile add` writes for those who will be remote.
      isRemote: stdin !== '',
      random: new Random(1),
      watch: nowhere,
    },
  );
  const outputs: string[] = [];
  const work = async (): Promise<void> => {
    for (const words of commands) {
      const typed = { words: [...words, '--json'], isTerminal: false, stdin };
      const { exit, stdout, stderr } = await machine.run(machine.spawn('set-up', true), typed);
      if (exit !== 0) throw new Error(`${words.join(' ')} ended ${exit}: ${stderr}`);
      outputs.push(stdout);
    }
  };
  const [worked] = await Promise.allSettled([work(), scheduler.run(() => undefined, MAX_STEPS)]);
  if (worked.status === 'rejected') throw worked.reason;
  return outputs;
}

/** A home with a flywheel and a profile, made once and copied for each world. */
async function makeTemplate(tokens: string): Promise<Template> {
  seedPlatform(new Random(7), () => START_MS);
  const home = mkdtempSync(join(BASE, 'flywheel-sim-'));
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  const [text = ''] = await setUp(home, [initWords(tokens)]);
  const made = JSON.parse(text) as Made;
  cpSync(join(home, 'data', 'owner.json'), join(home, 'owner.json'));
  await setUp(home, [profileWords(made, 'http://127.0.0.1:8080')], made.apiKey.key);
  return { home, opening: openingOf(made) };
}

/** Lives through a seed. */
export async function runWorld(options: RunOptions): Promise<RunResult> {
  const tokens = vaultTokens(stream(options.seed, 7).oneIn(3));
  const template = templates.get(tokens) ?? (await makeTemplate(tokens));
  templates.set(tokens, template);
  const home = mkdtempSync(join(BASE, 'flywheel-sim-'));
  try {
    cpSync(template.home, home, { recursive: true });
    return await new World(home, template.opening, options).live();
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

class World implements ChainWatch, Walker {
  readonly name = 'world';
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #faults: Faults;
  readonly #machine: Machine;
  readonly #auditor: Auditor;
  readonly #office: Office;
  readonly #isRemote: boolean;
  #broken: Error | null = null;
  #isOver = false;
  /** Of nobody's process: what brings bytes that are on their way. */
  #chain: LocalChain | undefined;

  constructor(home: string, opening: Opening, options: RunOptions) {
    const { seed, mode, say = () => undefined } = options;
    const none: ReadonlySet<number> = new Set();
    this.#random = stream(seed, 1);
    this.#scheduler = new Scheduler(stream(seed, 2), START_MS, say);
    seedPlatform(stream(seed, 0), () => this.#scheduler.nowMs);
    this.#faults = new Faults(stream(seed, 3), options.withoutFaults ?? none, say);
    this.#isRemote = mode === 'remote';
    const places = { home, dataDir: join(home, 'data') };
    this.#machine = new Machine(
      places,
      { scheduler: this.#scheduler, faults: this.#faults },
      {
        isRemote: this.#isRemote,
        random: stream(seed, 4),
        watch: this,
      },
    );
    const goods = new Goods(stream(seed, 5), home);
    const file = (name: string): string => join(places.dataDir, name);
    this.#auditor = new Auditor(file('ledger.db'), file('store.db'), goods, opening);
    this.#office = {
      machine: this.#machine,
      random: stream(seed, 6),
      goods,
      auditor: this.#auditor,
      say,
      left: options.withoutActions ?? none,
      running: new Set(),
      seen: new Set(),
      narrowed: new Set(),
      actions: 0,
    };
  }

  landed(process: SimProcess): void {
    this.#audit((running.getStore() ?? process).name);
  }

  /** Bytes that a process believes lost, and that arrive later. */
  onTheWay(process: SimProcess, deliver: (chain: LocalChain) => Promise<unknown>): void {
    const { name } = running.getStore() ?? process;
    const arrive = async (): Promise<void> => {
      await this.#scheduler.reach(this, `bytes of ${name} arrive`);
      const path = join(this.#machine.places.dataDir, 'ledger.db');
      const clock = { nowMs: () => this.#scheduler.nowMs };
      this.#chain ??= await openLocalChain({ path, clock, create: false, genesis: { accounts: [] } });
      await deliver(this.#chain);
      this.#audit(`${name}, late`);
    };
    this.#watch(arrive());
  }

  /** What is found breaks the run and not the process in which it is found. */
  #audit(by: string): void {
    try {
      this.#auditor.look(by);
    } catch (error) {
      this.#broken ??= error as Error;
    }
  }

  async live(): Promise<RunResult> {
    const persons = Array.from(
      { length: 1 + this.#random.below(3) },
      (_, index) => new Person(`person${index}`, this.#office),
    );
    this.#watch(this.#story(persons));
    try {
      await this.#scheduler.run(() => this.#afterStep(), MAX_STEPS);
      if (!this.#isOver) throw new Broken('end', `not over after ${this.#scheduler.steps} steps`);
    } catch (error) {
      this.#broken ??= error as Error;
    }
    this.#auditor.close();
    await this.#chain?.close();
    this.#machine.stop();
    return {
      broken: this.#broken,
      steps: this.#scheduler.steps,
      faults: this.#faults.count,
      actions: this.#office.actions,
    };
  }

  async #story(persons: readonly Person[]): Promise<void> {
    if (this.#isRemote) this.#watch(this.#keepServers());
    await Promise.all(persons.map((person) => person.work(4 + this.#random.below(10))));
    this.#faults.stop();
    await bringToRest(this.#office);
    this.#isOver = true;
  }

  /** One server or two, started again when they are gone. */
  async #keepServers(): Promise<void> {
    const wanted = this.#random.oneIn(3) ? 2 : 1;
    while (!this.#isOver) {
      if (this.#machine.servers.length < wanted) await this.#machine.serve();
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
