/**
 * The built command line as real processes: persons of the simulation type commands into a shell; the simulation's auditor looks
 * at the real ledger after each.
 *
 * A seed repeats what is typed and what happens to it. It does not repeat the moment at which a signal meets a process. The
 * steps of a run that failed are printed, and its files are kept.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '../fuzz/random.js';
import { Auditor, Broken } from '../simulation/audit/auditor.js';
import { FILES, JournalTables } from '../simulation/audit/tables.js';
import { initWords, type Made, openingOf } from '../simulation/flywheel.js';
import { Goods } from '../simulation/goods.js';
import { drawWorld } from '../simulation/kinds.js';
import { type Office, Person } from '../simulation/person.js';
import { bringToRest } from '../simulation/rest.js';
import { flywheel } from '../support/spawn.js';
import { CommandMachine, installFlywheel } from './command-machine.js';
import type { OpenTorture, TorturePart } from './part.js';

const MAX_PERSONS = 2;

const stream = (seed: number, use: number): Random => {
  const random = new Random(seed * 16 + use);
  for (let count = 0; count < 8; count += 1) random.bits();
  return random;
};

interface World {
  readonly office: Office;
  readonly machine: CommandMachine;
  readonly journal: string;
  readonly persons: number;
}

async function openWorld(directory: string, seed: number, say: (line: string) => void): Promise<World> {
  const random = stream(seed, 1);
  const drawn = drawWorld(seed, 'embedded', stream(seed, 7));
  say(`a world of the kind "${drawn.kind}"`);
  const home = join(directory, 'home');
  installFlywheel(home);
  // Where it is by itself, or where the environment says, which a line that is printed then has to say.
  const isUsual = random.oneIn(2);
  const dataDir = isUsual ? join(home, '.local/share/flywheel') : join(home, 'my data');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const env: Record<string, string> = isUsual ? {} : { FLYWHEEL_DATA_DIR: dataDir };
  const { stdout, stderr } = await flywheel({ home, env }, ...initWords(drawn), '--json');
  if (stdout === '') throw new Error(`local init failed: ${stderr}`);
  cpSync(join(dataDir, 'owner.json'), join(home, 'owner.json'));
  const goods = new Goods(stream(seed, 5), home, drawn.papers);
  const [ledger, store] = [join(dataDir, FILES.ledger), join(dataDir, FILES.store)];
  const auditor = new Auditor(ledger, store, goods, openingOf(JSON.parse(stdout) as Made, drawn));
  const machine = new CommandMachine({
    ...{ home, dataDir, env, say, random: stream(seed, 3) },
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
    // Here time is not the world's own.
    habits: drawn.habits.filter(([habit]) => habit !== 'wait a day'),
    say: () => undefined,
    left: new Set(),
    running: new Set(),
    seen: new Set(),
    narrowed: new Set(),
    actions: 0,
  };
  const persons = Math.min(drawn.persons, MAX_PERSONS);
  return { office, machine, journal: join(dataDir, FILES.journal), persons };
}

/** @throws Broken */
async function live(world: World, commands: number): Promise<void> {
  const { office, machine, persons } = world;
  const all = Array.from({ length: persons }, (_, index) => new Person(`person${index}`, office));
  await Promise.all(all.map((person) => person.work(commands)));
  machine.calm();
  await answer(machine, 'doctor');
  await checkLists(world);
  await bringToRest(office);
}

/** What a command answers while nothing goes wrong. @throws Broken */
async function answer(machine: CommandMachine, ...words: readonly string[]): Promise<unknown> {
  const typed = { words: [...words, '--json'], isTerminal: false };
  const { exit, stdout, stderr } = await machine.start('look').run(typed);
  if (exit !== 0) throw new Broken('calm', `\`${words.join(' ')}\` ends ${exit}: ${stderr}${stdout}`);
  return JSON.parse(stdout);
}

const idsOf = (listed: unknown): ReadonlySet<string> =>
  new Set((listed as readonly { readonly id: string }[]).map(({ id }) => id));

/** Nothing is under way that the lists do not show. @throws Broken */
async function checkLists({ office: { auditor }, machine, journal }: World): Promise<void> {
  const shown = idsOf(await answer(machine, 'batch', 'list', '--limit', '1000'));
  const hidden = auditor.batches().filter(({ id, isOver }) => !isOver && !shown.has(id));
  if (hidden.length > 0) throw new Broken('batch list', `lacks ${hidden.map(({ id }) => id).join(', ')}`);
  const listed = (await answer(machine, 'pending')) as readonly { readonly outcome: string }[];
  const pending = idsOf(listed.filter(({ outcome }) => outcome !== 'waits for approval'));
  if (existsSync(journal)) {
    const operations = new JournalTables(journal);
    const unlisted = operations.openOperations().filter((id) => !pending.has(id));
    operations.close();
    if (unlisted.length > 0) throw new Broken('pending list', `lacks ${unlisted.join(', ')}`);
  }
  if (pending.size === 0 && auditor.pendingBurns() > 0)
    throw new Broken('pending list', `is empty, and ${auditor.pendingBurns()} burns may still land`);
  auditor.close();
}

/** Lives through one world. @throws what is wrong, with all that was typed */
async function runCommands(seed: number, commands: number): Promise<CommandMachine> {
  // A space in it, as on many machines.
  const directory = mkdtempSync(join(tmpdir(), 'flywheel commands-'));
  const steps: string[] = [`in ${directory}`];
  try {
    const world = await openWorld(directory, seed, (line) => void steps.push(line));
    try {
      await live(world, commands);
    } finally {
      world.office.auditor.close();
    }
    rmSync(directory, { recursive: true, force: true });
    return world.machine;
  } catch (error) {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`seed ${seed}: ${what}\n${steps.join('\n')}`, { cause: error });
  }
}

class CommandsTorture implements OpenTorture {
  readonly #total = new Map<string, number>();
  #commands = 0;

  async round(random: Random): Promise<void> {
    const { commands, faults } = await runCommands(random.below(2 ** 24), 6 + random.below(16));
    this.#commands += commands;
    for (const [kind, count] of faults) this.#total.set(kind, (this.#total.get(kind) ?? 0) + count);
  }

  report(): string {
    const faults = [...this.#total].map(([kind, count]) => `${kind} ${count}`).join(', ');
    return `      ${this.#commands} commands; faults: ${faults}`;
  }

  async close(): Promise<void> {}
}

/** Persons at the built command line. */
export const tortureCommands: TorturePart = {
  of: 'a world of commands',
  open: async () => new CommandsTorture(),
};
