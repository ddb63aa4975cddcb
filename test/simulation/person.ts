/** A person or script at a terminal that types commands, reads their output and reacts. */
import { randomUUID } from 'node:crypto';
import type { Random } from '../fuzz/random.js';
import type { Auditor } from './audit/auditor.js';
import { type CommandCheck, checkEnded } from './audit/command-check.js';
import type { Ended } from './command-line.js';
import { type Command, idea, joinIn, PENDING, rest, someBatch } from './commands.js';
import { burnWords, type Goods, type Item } from './goods.js';
import type { Habit } from './kinds.js';
import type { Machine } from './machine.js';
import type { Scheduler } from './scheduler.js';

export interface Office {
  readonly machine: Machine;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly goods: Goods;
  readonly auditor: Auditor;
  readonly habits: readonly (readonly [Habit, number])[];
  readonly say: (line: string) => void;
  readonly running: Set<readonly string[]>;
  /** Hashes of proofs with an outcome that a person has seen. */
  readonly seen: Set<string>;
  /** Files run in part: a report about one of them is about its rest. */
  readonly narrowed: Set<string>;
  actions: number;
}

const RESUME = /flywheel (pending resume [0-9a-f]{8}[^"`\n;.]*?)(?= To end it|["`\n]|\.?$)/m;
const BURN_TRIES = 6;
const DAY_MS = 86_400_000;

/** Exits that leave the outcome unknown or the work undone. */
const UNSURE: ReadonlySet<number | null> = new Set([null, 1, 6, 7, 8, 130]);

export class Person {
  #last: { readonly command: Command; readonly ended: Ended } | undefined;

  constructor(
    readonly name: string,
    private readonly office: Office,
  ) {}

  async work(count: number): Promise<void> {
    const { scheduler, random } = this.office;
    for (let done = 0; done < count; done += 1) {
      await scheduler.reach(this, 'thinks');
      this.office.actions += 1;
      const reaction = random.oneIn(2) ? this.#reaction() : undefined;
      await (reaction === undefined ? this.#follow(this.#habit()) : this.type(reaction));
    }
  }

  async type(command: Command, isTerminal = this.office.random.oneIn(3)): Promise<Ended> {
    const { machine, running, narrowed, auditor, random, say } = this.office;
    // A copy: two persons may type the same command at once.
    const words = [...command.words];
    const again = words.includes('--again');
    if (again) for (const item of command.items ?? []) item.allowed += 1;
    const process = machine.spawn(`${this.name}:${words.slice(0, 2).join(' ')}`);
    say(`  ${process.name} types: ${words.join(' ')}`);
    running.add(words);
    const file = words.find((word) => word.endsWith('.json')) ?? '';
    if (words.includes('--rest')) narrowed.add(file);
    const isWhole = !narrowed.has(file);
    const items = command.items ?? [];
    const mark = auditor.landings.length;
    const ended = await machine.run(process, {
      ...{ words, isTerminal, isAlias: random.oneIn(4) },
      read: (text) => this.#read(text),
    });
    running.delete(words);
    say(`  ${process.name} ends: ${ended.exit ?? 'killed'} ${firstLine(ended.stderr)}`);
    // Another process may have reported an outcome in the meantime.
    const unseen = this.#unseen(command);
    this.#read(ended.stdout);
    if (again && ended.exit === 2) for (const item of command.items ?? []) item.allowed -= 1;
    const check: CommandCheck = { process: process.name, words, items, unseen, isWhole };
    checkEnded(auditor, check, ended, mark);
    this.#last = { command, ended };
    return ended;
  }

  /** Items that only this command reports, with no seen outcome. */
  #unseen({ words, items = [] }: Command): readonly Item[] {
    const isItself = words[0] === 'burn' && !words.includes('--once');
    return isItself ? items.filter(({ hash }) => !this.office.seen.has(hash)) : [];
  }

  #read(stdout: string): void {
    for (const { hash } of this.office.goods.items) if (stdout.includes(hash)) this.office.seen.add(hash);
  }

  #habit(): Habit {
    const { random, habits } = this.office;
    const tickets = habits.flatMap(([habit, weight]) => Array.from({ length: weight }, () => habit));
    return tickets.length === 0 ? 'look' : random.pick(tickets);
  }

  async #follow(habit: Habit): Promise<void> {
    const { scheduler, goods, random } = this.office;
    if (habit === 'burn once') await this.#burnOnce();
    else if (habit === 'burn under a key') await this.#burnUnderKey();
    else if (habit === 'forget') await this.#forget();
    else if (habit === 'change a file') goods.change(random.pick(goods.papers));
    else if (habit === 'wait a day') scheduler.jump(DAY_MS);
    else if (habit === 'join in') await this.type(joinIn(this.office));
    else await this.type(idea(this.office, habit));
  }

  /** One intended burn: repeated until its outcome was seen. */
  async #burnOnce(): Promise<void> {
    const item = this.office.goods.item('burn');
    let isUnsure = false;
    for (let tries = 0; tries < BURN_TRIES && !this.office.seen.has(item.hash); tries += 1) {
      if (tries > 0 && !(await this.#triesAgain(item))) continue;
      const { exit } = await this.type({ words: burnWords(item), items: [item] });
      isUnsure ||= UNSURE.has(exit);
      // After an unknown outcome, a later refusal does not settle the burn.
      if (!isUnsure || exit === 0) break;
    }
    // A burn meant once is not repeated later.
    this.#last = undefined;
  }

  async #triesAgain(item: Item): Promise<boolean> {
    const { scheduler, running, seen } = this.office;
    await scheduler.reach(this, 'tries again');
    this.office.actions += 1;
    if (seen.has(item.hash)) return false;
    // `pending resume` may complete it just before it is typed; then it is a new operation.
    if ([...running].some(([word]) => word === 'pending')) item.allowed += 1;
    return true;
  }

  /** A script with its own idempotency key, which runs repeatedly. */
  async #burnUnderKey(): Promise<void> {
    const { goods, scheduler, random } = this.office;
    const item = goods.item('burn');
    // A seeded one: see platform.ts.
    const key = randomUUID();
    for (let runs = 2 + random.below(2); runs > 0; runs -= 1) {
      const written = random.oneIn(2) ? key : key.toUpperCase();
      await this.type({ words: [...burnWords(item), '--idempotency-key', written], items: [item] });
      await scheduler.reach(this, 'starts the script again');
      this.office.actions += 1;
    }
    this.#last = undefined;
  }

  /** Discards a pending operation; its outcome stays unknown from then on. */
  async #forget(): Promise<void> {
    const { goods, auditor } = this.office;
    const { exit, stdout } = await this.type({ words: ['pending', '--json'] }, false);
    const rows = exit === 0 ? (JSON.parse(stdout) as { id: string; command?: string }[]) : [];
    // Work left in the service only is no operation of the journal.
    const first = rows.find(({ command }) => command !== undefined);
    if (first?.command === undefined) return;
    const { id, command } = first;
    const named = [
      ...goods.items.filter(({ name }) => command.includes(`"${name}"`)),
      ...goods.papers.filter(({ name }) => command.includes(name)).flatMap(({ items }) => items),
      ...auditor
        .batches()
        .filter((batch) => command.includes(batch.id))
        .flatMap(({ items }) => items),
    ];
    for (const item of new Set(named)) item.allowed += 1;
    await this.type({ words: ['pending', 'forget', id, '--yes'] }, false);
  }

  #reaction(): Command | undefined {
    const { random } = this.office;
    if (this.#last === undefined) return undefined;
    const { command, ended } = this.#last;
    if (ended.exit === 3 || ended.exit === 10) return rest(command);
    if (!UNSURE.has(ended.exit)) return random.oneIn(4) ? command : undefined;
    const line = RESUME.exec(ended.stderr)?.[1]?.trim();
    const resume = line === undefined ? undefined : { words: line.split(' ') };
    const other = someBatch(this.office, 'execute');
    return random.pick([command, command, resume ?? command, resume ?? PENDING, PENDING, other ?? command]);
  }
}

const firstLine = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .join(' | ')
    .slice(0, 400);
