/** Chooses the commands that simulated persons type, by their habits. */
import type { BookedBatch } from './audit/auditor.js';
import { burnWords, type Item, type Paper } from './goods.js';
import type { Habit } from './kinds.js';
import type { Office } from './person.js';

export interface Command {
  readonly words: readonly string[];
  readonly items?: readonly Item[];
}

type Place = Pick<Office, 'random' | 'goods' | 'auditor' | 'running'>;

const KEYPAIR = ['--keypair', 'owner.json', '--yes'] as const;
export const PENDING: Command = { words: ['pending', 'resume'] };

export function idea(place: Place, habit: Habit): Command {
  switch (habit) {
    case 'burn a file':
      return burnFile(place, paperOf(place, 'burns'));
    case 'set up':
    case 'run':
      return fileOfPipelines(place, habit, paperOf(place, 'pipelines'));
    case 'execute':
    case 'approve':
    case 'cancel':
      return someBatch(place, habit) ?? fileOfPipelines(place, 'set up', paperOf(place, 'pipelines'));
    case 'resume':
      return PENDING;
    default:
      return someBatch(place, 'look') ?? { words: ['pending'] };
  }
}

/** Repeats a command that another person is running, or picks another command for the same batch. */
export function joinIn(place: Place): Command {
  const { random, running } = place;
  const others = [...running].filter(([word]) => word === 'batch' || word === 'burn-batch');
  if (others.length === 0) return idea(place, random.pick(['run', 'set up', 'burn a file']));
  const words = random.pick(others).filter((word) => word !== '--again');
  const newest = place.auditor.batches().at(-1);
  const same = { words };
  if (words[0] === 'burn-batch' || newest === undefined) return same;
  const about = aboutBatch(place, newest, random.pick(['execute', 'execute', 'cancel']));
  return random.oneIn(3) ? same : about;
}

/** The same file with `--rest`, for items that have not landed. */
export function rest({ words, items = [] }: Command): Command | undefined {
  const isFile = words[0] === 'burn-batch' || words[1] === 'run';
  if (!isFile) return undefined;
  const kept = words.filter((word) => !['--again', '--rest'].includes(word));
  return { words: [...kept, '--rest'], items };
}

function paperOf({ random, goods }: Place, kind: Paper['kind']): Paper {
  return random.pick(goods.papers.filter((paper) => paper.kind === kind));
}

function burnFile({ random }: Place, { name, items }: Paper): Command {
  const [only] = items;
  if (random.oneIn(6) && only !== undefined && items.length === 1)
    return { words: [...burnWords(only), '--once'], items };
  const words = ['burn-batch', name, ...howOften(random)];
  if (random.oneIn(5)) words.push('--failed-out', `failed-${name}`, '--force');
  if (random.oneIn(6)) words.push('--output', 'ndjson');
  return { words, items };
}

function fileOfPipelines({ random }: Place, habit: 'set up' | 'run', { name, items }: Paper): Command {
  const words = habit === 'set up' ? ['batch', 'init', name] : ['batch', 'run', name, ...KEYPAIR];
  return { words: [...words, ...howOften(random)], items };
}

/** A command for an existing batch, usually an unfinished one. */
export function someBatch(place: Place, habit: AboutBatch): Command | undefined {
  const { random } = place;
  const batches = place.auditor.batches();
  if (batches.length === 0) return undefined;
  const open = batches.filter(({ isOver }) => !isOver);
  return aboutBatch(place, random.pick(open.length === 0 || random.oneIn(6) ? batches : open), habit);
}

type AboutBatch = 'execute' | 'approve' | 'cancel' | 'look';

function aboutBatch({ random, goods }: Place, { id, items }: BookedBatch, habit: AboutBatch): Command {
  const own = goods.papers.filter((paper) => paper.items.some((item) => items.includes(item)));
  const expect = ['--expect', random.pick(own.length === 0 ? goods.papers : own).name];
  switch (habit) {
    case 'execute':
      return random.oneIn(6)
        ? { words: ['batch', 'execute', id, '--signed-tx', `@${id}.signed`] }
        : { words: ['batch', 'execute', id, ...KEYPAIR, ...expect] };
    case 'approve':
      return { words: ['batch', 'approve', id, ...KEYPAIR, ...expect, '--out', `${id}.signed`, '--force'] };
    case 'cancel':
      return { words: ['batch', 'cancel', id, ...KEYPAIR] };
    case 'look':
      return { words: random.pick([['batch', 'status', id], ['batch', 'list'], ['pending']]) };
  }
}

function howOften(random: Office['random']): string[] {
  if (random.oneIn(10)) return ['--again'];
  if (random.oneIn(4)) return ['--rest'];
  return [];
}
