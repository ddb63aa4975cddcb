/** A person, or a script, at a terminal: types commands, reads what they answer, and reacts as people do. */
import type { Random } from '../fuzz/random.js';
import type { Auditor } from './auditor.js';
import { type CommandCheck, checkEnded } from './command-check.js';
import { burnWords, type Goods, type Item, type Paper } from './goods.js';
import type { Ended, Workplace } from './workplace.js';

/** What all persons of a world know and share. */
export interface Office {
  readonly machine: Workplace;
  readonly random: Random;
  readonly goods: Goods;
  readonly auditor: Auditor;
  readonly say: (line: string) => void;
  /** Actions that are left out. */
  readonly left: ReadonlySet<number>;
  /** Commands that run now. */
  readonly running: Set<readonly string[]>;
  /** Hashes of proofs whose outcome somebody has seen. */
  readonly seen: Set<string>;
  /** Files of which a part was left out: what is said of one of them is said of the rest. */
  readonly narrowed: Set<string>;
  actions: number;
}

/** Something that can be typed. */
interface Command {
  readonly words: readonly string[];
  readonly items?: readonly Item[];
  /** The same as it was printed. */
  readonly line?: string;
}

const KEYPAIR = ['--keypair', 'owner.json', '--yes'] as const;
const RESUME = /flywheel (pending resume [0-9a-f]{8}[^"`\n;.]*?)(?= To end it|["`\n]|\.?$)/m;
const BURN_TRIES = 4;

/** Exits after which one does not know, or could not do, what one wanted. */
const UNSURE: ReadonlySet<number | null> = new Set([null, 1, 6, 7, 8, 130]);

export class Person {
  readonly name: string;
  readonly #office: Office;
  #last: { readonly command: Command; readonly ended: Ended } | undefined;

  constructor(name: string, office: Office) {
    this.name = name;
    this.#office = office;
  }

  /** Types so many commands. */
  async work(commands: number): Promise<void> {
    const { machine, random } = this.#office;
    for (let count = 0; count < commands; count += 1) {
      await machine.turn(this, 'thinks');
      if (!this.#goesOn()) continue;
      if (random.oneIn(8)) {
        await this.#burnOnce();
        // What is meant once is not typed again as an afterthought.
        this.#last = undefined;
      } else await this.type(this.#next());
    }
  }

  /** Types a command and waits for it. */
  async type(command: Command, isTerminal = this.#office.random.oneIn(3)): Promise<Ended> {
    const { machine, running, narrowed, say } = this.#office;
    const { words, line } = command;
    const again = words.includes('--again');
    if (again) for (const item of command.items ?? []) item.allowed += 1;
    const process = machine.start(`${this.name}:${words.slice(0, 2).join(' ')}`);
    say(`  ${process.name} types: ${words.join(' ')}`);
    running.add(words);
    const file = words.find((word) => word.endsWith('.json')) ?? '';
    if (words.includes('--only-new')) narrowed.add(file);
    const isWhole = !narrowed.has(file);
    const check: CommandCheck = { process: process.name, words, items: command.items ?? [], isWhole };
    const mark = this.#office.auditor.landings.length;
    const ended = await process.run({ words, isTerminal, ...(line === undefined ? {} : { line }) });
    running.delete(words);
    say(`  ${process.name} ends: ${ended.exit ?? 'killed'} ${firstLine(ended.stderr)}`);
    this.#read(ended.stdout);
    if (again && ended.exit === 2) for (const item of command.items ?? []) item.allowed -= 1;
    checkEnded(this.#office.auditor, check, ended, mark);
    this.#last = { command, ended };
    return ended;
  }

  /** Counts the action. */
  #goesOn(): boolean {
    this.#office.actions += 1;
    return !this.#office.left.has(this.#office.actions);
  }

  #read(stdout: string): void {
    for (const { hash } of this.#office.goods.items) if (stdout.includes(hash)) this.#office.seen.add(hash);
  }

  /** One burn, meant once: typed again until its outcome was seen. */
  async #burnOnce(): Promise<void> {
    const { goods, machine, running, seen } = this.#office;
    const item = goods.item('burn');
    for (let tries = 0; tries < BURN_TRIES && !seen.has(item.hash); tries += 1) {
      if (tries > 0) {
        await machine.turn(this, 'tries again');
        if (!this.#goesOn()) continue;
        if (seen.has(item.hash)) return;
        // Somebody who resumes all that is pending may be done with it just before it is typed: then it is a new one.
        if ([...running].some(([word]) => word === 'pending')) item.allowed += 1;
      }
      const { exit } = await this.type({ words: burnWords(item), items: [item] });
      if (!UNSURE.has(exit)) return;
    }
  }

  #next(): Command {
    const { random } = this.#office;
    return (random.oneIn(2) ? this.#reaction() : undefined) ?? this.#idea();
  }

  /** What the last answer makes one do. */
  #reaction(): Command | undefined {
    const { random } = this.#office;
    if (this.#last === undefined) return undefined;
    const { command, ended } = this.#last;
    if (ended.exit === 3 || ended.exit === 10) return rest(command);
    if (!UNSURE.has(ended.exit)) return random.oneIn(4) ? command : undefined;
    const line = RESUME.exec(ended.stderr)?.[1]?.trim();
    const resume = line === undefined ? undefined : { words: line.split(' '), line: `flywheel ${line}` };
    return random.pick([command, command, resume ?? command, resume ?? PENDING, PENDING]);
  }

  #idea(): Command {
    const { random, goods } = this.#office;
    const paper = random.pick(goods.papers);
    if (random.oneIn(12)) return PENDING;
    if (random.oneIn(15)) return { words: ['pending'] };
    if (random.oneIn(12)) return this.#withBatch(paper);
    if (random.oneIn(30)) goods.change(paper);
    return paper.kind === 'burns' ? this.#burnPaper(paper) : this.#batchPaper(paper);
  }

  #burnPaper(paper: Paper): Command {
    const { random } = this.#office;
    const { name, items } = paper;
    const [only] = items;
    if (random.oneIn(6) && only !== undefined && items.length === 1)
      return { words: [...burnWords(only), '--once'], items };
    const words = ['burn-batch', name, ...this.#howOften()];
    if (random.oneIn(5)) words.push('--failed-out', `failed-${name}`);
    if (random.oneIn(6)) words.push('--output', 'ndjson');
    return { words, items };
  }

  #batchPaper(paper: Paper): Command {
    const { random } = this.#office;
    const { name, items } = paper;
    if (random.oneIn(3)) return this.#withBatch(paper);
    if (random.oneIn(4)) return { words: ['batch', 'init', name, ...this.#howOften()], items };
    return { words: ['batch', 'run', name, ...KEYPAIR, ...this.#howOften()], items };
  }

  /** Something about a batch that is there. */
  #withBatch({ name }: Paper): Command {
    const { random, auditor } = this.#office;
    const batches = auditor.batches();
    if (batches.length === 0) return { words: ['batch', 'list'] };
    const { id } = random.pick(batches);
    return random.pick<Command>([
      { words: ['batch', 'status', id] },
      { words: ['batch', 'list'] },
      { words: ['batch', 'execute', id, ...KEYPAIR, '--expect', name] },
      { words: ['batch', 'execute', id, ...KEYPAIR, '--expect', name] },
      { words: ['batch', 'approve', id, ...KEYPAIR, '--expect', name, '--out', `${id}.signed`] },
      { words: ['batch', 'execute', id, '--signed-tx', `@${id}.signed`] },
      { words: ['batch', 'cancel', id, ...KEYPAIR] },
    ]);
  }

  #howOften(): string[] {
    const { random } = this.#office;
    if (random.oneIn(8)) return ['--again'];
    if (random.oneIn(6)) return ['--rest'];
    if (random.oneIn(5)) return ['--only-new'];
    return [];
  }
}

const PENDING: Command = { words: ['pending', 'resume'] };

function rest({ words, items = [] }: Command): Command | undefined {
  const isFile = words[0] === 'burn-batch' || words[1] === 'run';
  if (!isFile) return undefined;
  const kept = words.filter((word) => !['--again', '--only-new', '--rest'].includes(word));
  return { words: [...kept, '--rest'], items };
}

const firstLine = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .join(' | ')
    .slice(0, 400);
