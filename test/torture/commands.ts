/**
 * The built command line as real processes: persons of the simulation type commands into a shell, with real files, a real
 * `flywheel serve` behind a gate that spoils requests, full disks, pipes that close and signals at any moment; the simulation's
 * auditor looks at the real ledger after each.
 *
 * A seed repeats what is typed and what befalls it. It does not repeat the moment at which a signal meets a process, and what
 * is typed next depends on what was answered; the steps of a run that failed are printed, and its files are kept.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '../fuzz/random.js';
import { Auditor, Broken } from '../simulation/audit/auditor.js';
import {
  initWords,
  type Made,
  openingOf,
  PIN_WORDS,
  profileWords,
  type Setting,
} from '../simulation/flywheel.js';
import { Goods } from '../simulation/goods.js';
import { drawWorld, type Habit, type Mode } from '../simulation/kinds.js';
import { type Office, Person } from '../simulation/person.js';
import { bringToRest } from '../simulation/rest.js';
import { flywheel } from '../support/spawn.js';
import { rawSqlite } from '../support/store.js';
import { CommandFaults } from './command-faults.js';
import { CommandMachine, clockEnvironment, installFlywheel } from './command-machine.js';
import { CommandService } from './command-service.js';
import type { OpenTorture, TorturePart } from './part.js';

/** One world. */
export interface CommandRun {
  readonly seed: number;
  readonly mode: Mode;
  /** Commands of each person before everything is brought to rest. */
  readonly commands: number;
  readonly say?: (line: string) => void;
}

/** What there was of it. */
export interface CommandRunResult {
  readonly commands: number;
  /** Processes of commands that a signal ended. */
  readonly kills: number;
  readonly faults: ReadonlyMap<string, number>;
}

interface Template {
  readonly directory: string;
  readonly made: Made;
}

const MAX_PERSONS = 2;
/** What persons do where time is their own. */
const OF_SIMULATED_TIME: ReadonlySet<Habit> = new Set(['wait a day']);
const LIST_ALL = ['batch', 'list', '--limit', '1000', '--json'] as const;

const templates = new Map<string, Promise<Template>>();

/** A data directory with a flywheel, made once and copied for each world. */
function templateOf(setting: Setting): Promise<Template> {
  const name = `${setting.vaultTokens} ${setting.burnCap}`;
  const known = templates.get(name);
  if (known !== undefined) return known;
  const made = makeTemplate(setting);
  templates.set(name, made);
  return made;
}

async function makeTemplate(setting: Setting): Promise<Template> {
  const directory = mkdtempSync(join(tmpdir(), 'flywheel-commands-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const { stdout, stderr } = await flywheel(
    { home: directory, env: { FLYWHEEL_DATA_DIR: join(directory, 'data') } },
    ...initWords(setting),
    '--json',
  );
  if (stdout === '') throw new Error(`local init failed: ${stderr}`);
  return { directory, made: JSON.parse(stdout) as Made };
}

const stream = (seed: number, use: number): Random => {
  const random = new Random(seed * 16 + use);
  for (let count = 0; count < 8; count += 1) random.bits();
  return random;
};

/** Lives through one world. @throws what is wrong, with all that was typed */
export async function runCommands(run: CommandRun): Promise<CommandRunResult> {
  // A space in it, as on many machines.
  const directory = mkdtempSync(join(tmpdir(), 'flywheel commands-'));
  const steps: string[] = [`in ${directory}`];
  const say = (line: string): void => {
    steps.push(line);
    run.say?.(line);
  };
  try {
    const world = await CommandWorld.open(directory, run, say);
    try {
      await world.live();
    } finally {
      await world.close();
    }
    rmSync(directory, { recursive: true, force: true });
    return world.result;
  } catch (error) {
    const what =
      error instanceof Broken ? error.message : error instanceof Error ? error.stack : String(error);
    throw new Error(`seed ${run.seed} (${run.mode}): ${what}\n${steps.join('\n')}`, { cause: error });
  }
}

/** What a world consists of. */
interface Parts {
  readonly office: Office;
  readonly machine: CommandMachine;
  readonly service: CommandService | null;
  readonly faults: CommandFaults;
  /** The file in which the command line notes what it is at. */
  readonly journal: string;
  readonly persons: number;
  readonly commands: number;
}

class CommandWorld {
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  static async open(directory: string, run: CommandRun, say: (line: string) => void): Promise<CommandWorld> {
    const { seed, mode, commands } = run;
    const random = stream(seed, 1);
    const drawn = drawWorld(seed, mode, stream(seed, 7));
    say(`a world of the kind "${drawn.kind}"`);
    const { directory: source, made } = await templateOf(drawn);
    const isRemote = mode === 'remote';
    const home = join(directory, 'home');
    installFlywheel(home);
    // Where it is by itself, or where the environment says, which a line that is printed then has to say.
    const isUsual = random.oneIn(2);
    const local = isUsual ? join(home, '.local/share/flywheel') : join(home, 'my data');
    const dataDir = isRemote ? join(directory, 'server data') : local;
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    cpSync(join(source, 'data'), dataDir, { recursive: true });
    cpSync(join(dataDir, 'owner.json'), join(home, 'owner.json'));
    const faults = new CommandFaults(stream(seed, 3), stream(seed, 4));
    const clock = { aheadMs: 0 };
    const service = isRemote
      ? await CommandService.open({
          home: join(directory, 'server'),
          dataDir,
          key: made.apiKey.key,
          faults,
          clock: { nowMs: () => Date.now() + clock.aheadMs },
          environment: () => clockEnvironment(clock.aheadMs),
          say,
        })
      : null;
    if (service !== null) await addProfile(home, made, service);
    const goods = new Goods(stream(seed, 5), home, drawn.papers);
    const auditor = new Auditor(
      join(dataDir, 'ledger.db'),
      join(dataDir, 'store.db'),
      goods,
      openingOf(made, drawn),
    );
    const machine = new CommandMachine({
      home,
      dataDir,
      env: isRemote || isUsual ? {} : { FLYWHEEL_DATA_DIR: dataDir },
      faults,
      service,
      clock,
      say,
      look: (by) => {
        auditor.look(by);
        // A command never meets the auditor in the files.
        auditor.close();
      },
      landedBy: (name) => auditor.landings.filter(({ by }) => by === name).map(({ item }) => item.name),
    });
    const office: Office = {
      machine,
      random: stream(seed, 6),
      goods,
      auditor,
      habits: drawn.habits.filter(([habit]) => !OF_SIMULATED_TIME.has(habit)),
      say: () => undefined,
      left: new Set(),
      running: new Set(),
      seen: new Set(),
      narrowed: new Set(),
      actions: 0,
    };
    const journal = join(isRemote ? join(home, '.config/flywheel') : dataDir, 'journal.db');
    const persons = Math.min(drawn.persons, MAX_PERSONS);
    return new CommandWorld({ office, machine, service, faults, journal, persons, commands });
  }

  get result(): CommandRunResult {
    const { machine, faults } = this.#parts;
    return { commands: machine.commands, kills: machine.kills, faults: faults.counts };
  }

  async live(): Promise<void> {
    const { office, machine, service, persons, commands } = this.#parts;
    const all = Array.from({ length: persons }, (_, index) => new Person(`person${index}`, office));
    await Promise.all(all.map((person) => person.work(commands)));
    machine.calm();
    await service?.ready();
    await this.#list('doctor', '--json');
    await this.#checkShown();
    await bringToRest(office);
    if ((await this.#list('pending', '--json')).length > 0)
      throw new Broken('pending', 'not empty at the end');
  }

  async close(): Promise<void> {
    const { office, service } = this.#parts;
    office.auditor.close();
    await service?.close();
  }

  /** Nothing is under way that the lists do not show. @throws Broken */
  async #checkShown(): Promise<void> {
    const { auditor } = this.#parts.office;
    const shown = new Set((await this.#list(...LIST_ALL)).map(({ id }) => id));
    const hidden = auditor.batches().filter(({ id, isOver }) => !isOver && !shown.has(id));
    if (hidden.length > 0)
      throw new Broken('batch list', `does not show ${hidden.map(({ id }) => id).join(', ')}`);
    const pending = new Set((await this.#list('pending', '--json')).map(({ id }) => id));
    const noted = this.#noted();
    const unlisted = noted.filter((id) => !pending.has(id));
    if (unlisted.length > 0) throw new Broken('pending list', `does not show ${unlisted.join(', ')}`);
    if (pending.size === 0 && auditor.pendingBurns() > 0)
      throw new Broken('pending list', `is empty, and ${auditor.pendingBurns()} burns may still land`);
    auditor.close();
  }

  /** Operations that are open in the journal's own books. */
  #noted(): readonly string[] {
    const { journal } = this.#parts;
    if (!existsSync(journal)) return [];
    return rawSqlite(journal, "select id from operations where state = 'open' or told = 0").map(({ id }) =>
      String(id),
    );
  }

  async #list(...words: readonly string[]): Promise<readonly { readonly id: string }[]> {
    const ended = await this.#parts.machine.start('list').run({ words, isTerminal: false });
    if (ended.exit !== 0)
      throw new Broken('calm', `\`${words.join(' ')}\` ends ${ended.exit}: ${ended.stderr}${ended.stdout}`);
    return JSON.parse(ended.stdout) as readonly { readonly id: string }[];
  }
}

async function addProfile(home: string, made: Made, { gate, node }: CommandService): Promise<void> {
  const words = [...profileWords(made, gate.url), '--rpc-url', node.url];
  for (const each of [words, PIN_WORDS]) {
    const { exit, stderr } = await flywheel({ home, stdin: made.apiKey.key }, ...each);
    if (exit !== 0) throw new Error(`${each.join(' ')} failed: ${stderr}`);
  }
}

const MODES = ['embedded', 'remote'] as const;

class CommandsTorture implements OpenTorture {
  readonly #total = new Map<string, number>();
  #commands = 0;
  #kills = 0;

  async round(random: Random): Promise<void> {
    const seed = random.below(2 ** 24);
    const mode = random.pick(MODES);
    const { commands, kills, faults } = await runCommands({ seed, mode, commands: 6 + random.below(16) });
    this.#commands += commands;
    this.#kills += kills;
    for (const [kind, count] of faults) this.#total.set(kind, (this.#total.get(kind) ?? 0) + count);
  }

  report(): string {
    const faults = [...this.#total].map(([kind, count]) => `${kind} ${count}`).join(', ');
    return `${this.#commands} commands, of which a signal ended ${this.#kills}; faults: ${faults}`;
  }

  async close(): Promise<void> {}
}

/** Persons at the built command line. */
export const tortureCommands: TorturePart = {
  of: 'a world of commands',
  open: async () => new CommandsTorture(),
};
