/**
 * Defines the kinds of worlds: faults and their frequency, habits, money and caps. Each kind has few frequent faults and no
 * others, because a process killed at every second command hides the interaction of two processes that live longer.
 */
import type { Random } from '../fuzz/random.js';
import { FAULTS, type Fault, NO_FAULTS } from './faults.js';

/** Acts of persons with their weights. */
export const HABITS = [
  'burn once',
  'burn under a key',
  'burn a file',
  'set up',
  'run',
  'execute',
  'approve',
  'cancel',
  'look',
  'resume',
  'forget',
  'change a file',
  'wait a day',
  'join in',
] as const;
export type Habit = (typeof HABITS)[number];

/** Whether the service runs inside the command's process or behind a network. */
export type Mode = 'embedded' | 'remote';

/** Properties that a kind leaves open are drawn by seed. */
interface Kind {
  readonly name: string;
  /** Only in this mode. @default both */
  readonly mode?: Mode;
  /** Factor on each fault's frequency; 0 means never. */
  readonly faults?: Readonly<Partial<Record<Fault, number>>>;
  readonly habits?: Readonly<Partial<Record<Habit, number>>>;
  /** Whole tokens at the start. */
  readonly vaultTokens?: number;
  /** Whole tokens a day. */
  readonly burnCap?: number;
  readonly persons?: readonly number[];
  readonly servers?: readonly number[];
  readonly papers?: number;
  readonly busy?: boolean;
}

const NO_HABITS = Object.fromEntries(HABITS.map((habit) => [habit, 0])) as Readonly<Record<Habit, number>>;

const BURNS = { ...NO_HABITS, 'burn once': 6, 'burn a file': 2, 'burn under a key': 2, run: 1 };

const AMPLE = 4_000;
/** Enough for two or three pipelines: batches prepared together fail when they are executed in turn. */
const POOR = 170;
const WIDE_CAP = 600;
/** Slightly above the largest file. */
const TIGHT_CAP = 360;

const KINDS: readonly Kind[] = [
  { name: 'any' },
  {
    name: 'days and tight caps',
    burnCap: TIGHT_CAP,
    faults: { ...NO_FAULTS, kill: 0.5, jump: 2, twice: 0.5 },
    habits: { 'wait a day': 4, 'set up': 6, run: 1, execute: 2, 'burn a file': 3, look: 0, cancel: 0 },
    papers: 4,
  },
  {
    name: 'moving vault',
    vaultTokens: AMPLE,
    faults: { ...NO_FAULTS, move: 2, kill: 0.5, mute: 0.5 },
    habits: { ...NO_HABITS, 'set up': 1, execute: 2, run: 5, 'change a file': 1 },
    papers: 3,
    servers: [1],
  },
  {
    name: 'crowd',
    faults: { ...NO_FAULTS, twice: 4 },
    habits: { ...NO_HABITS, 'join in': 7, 'burn a file': 3, run: 3, 'set up': 4, execute: 2, cancel: 1 },
    persons: [3],
    servers: [2],
    papers: 1,
  },
  {
    name: 'sudden ends',
    faults: { kill: 3, interrupt: 2, late: 0, jump: 0, blocks: 0, door: 0 },
    habits: { run: 4, 'burn once': 2, execute: 2, cancel: 2, resume: 0 },
  },
  {
    name: 'slow chain',
    mode: 'embedded',
    faults: { ...NO_FAULTS, kill: 0.5, refuse: 0.5, mute: 1, late: 5, blocks: 2 },
    habits: { ...BURNS, run: 2, resume: 1 },
    persons: [3],
    papers: 1,
  },
  {
    name: 'months',
    mode: 'embedded',
    faults: { kill: 3, jump: 8, blocks: 1 },
    habits: { 'burn once': 4, 'burn under a key': 2, 'burn a file': 2, 'wait a day': 1 },
  },
  {
    name: 'bad line',
    mode: 'remote',
    faults: { ...NO_FAULTS, lose: 4, door: 3 },
    habits: BURNS,
    persons: [2],
    papers: 1,
    busy: true,
  },
  {
    name: 'hesitant service',
    mode: 'remote',
    faults: { ...NO_FAULTS, mute: 4, door: 4, twice: 6, refuse: 1 },
    habits: BURNS,
    persons: [2],
    papers: 1,
    busy: true,
  },
];

export interface World {
  readonly kind: string;
  readonly vaultTokens: number;
  readonly burnCap: number;
  readonly persons: number;
  readonly servers: number;
  readonly papers: number;
  readonly actions: readonly [least: number, most: number];
  readonly faults: Readonly<Record<Fault, number>>;
  readonly habits: readonly (readonly [Habit, number])[];
}

/** Kinds rotate by seed, so that consecutive seeds cover all of them. */
export function kindOf(seed: number, mode: Mode): Kind {
  const kinds = KINDS.filter((one) => one.mode === undefined || one.mode === mode);
  return kinds[seed % kinds.length] ?? { name: 'any' };
}

export function drawWorld(seed: number, mode: Mode, random: Random): World {
  const kind = kindOf(seed, mode);
  const faults = Object.fromEntries(
    FAULTS.map((fault) => [fault, random.pick([0, 0, 0.5, 1, 2, 4])] as const),
  ) as Record<Fault, number>;
  const habits = HABITS.map((habit): [Habit, number] => {
    const drawn = random.pick([0, 1, 1, 2, 4]);
    return [habit, kind.habits?.[habit] ?? drawn];
  });
  return {
    kind: kind.name,
    vaultTokens: kind.vaultTokens ?? random.pick([AMPLE, AMPLE, POOR]),
    burnCap: kind.burnCap ?? WIDE_CAP,
    persons: random.pick(kind.persons ?? [1, 2, 3]),
    servers: random.pick(kind.servers ?? [1, 1, 2]),
    papers: kind.papers ?? 3,
    actions: kind.busy === true ? [8, 20] : [4, 13],
    faults: { ...faults, ...kind.faults },
    habits,
  };
}
