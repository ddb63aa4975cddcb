/** What the servers of the torture work on: three projects, a chain with faults, clocks that are minutes apart. */
import {
  type Machine,
  type MachineProject,
  type Machines,
  type MachinesOptions,
  openMachines,
} from '../../support/machines.js';

/** How far the clock of each server is from the true time. */
const CLOCKS_APART_MS = [0, -7 * 60_000, 11 * 60_000] as const;
/** So few that they can all be taken. */
const MAX_CONNECTIONS = 60;
const SLOT_MS = 150;

const FAULTS: NonNullable<MachinesOptions['faults']> = [
  { fault: 'drop', rate: 0.05 },
  { fault: 'late', rate: 0.1, slots: 6 },
  { fault: 'duplicate', rate: 0.2 },
  { fault: 'reorder', rate: 0.2 },
  { fault: 'hangup', rate: 0.02 },
  { fault: 'unavailable', rate: 0.02 },
  { fault: 'unanswered', rate: 0.01, methods: ['sendTransaction'] },
  { fault: 'busy', rate: 0.01, seconds: 1 },
];

/** Burns of one project have a daily cap, in whole tokens. */
export const CAP = 0.002;

/** Requests a minute that each key may make of this one, by whichever servers. */
export const REPORTS_A_MINUTE = 20;

const WORDS = [
  ...['burn', 'burn-batch', 'init', 'execute', 'current', 'status', 'burns', 'approval'].flatMap((name) => [
    '--rate',
    `${name}=10000/s`,
  ]),
  ...['--rate', `report=${REPORTS_A_MINUTE}/min`, '--shutdown-grace', '5'],
];

export interface World extends Omit<Machines, 'projects'> {
  readonly projects: Readonly<Record<'free' | 'capped' | 'batches', MachineProject>>;
  readonly machines: readonly Machine[];
}

/** Puts it together and starts the servers. */
export async function openWorld(seed: number): Promise<World> {
  const opened = await openMachines({
    projects: [{ name: 'free' }, { name: 'capped', dailyBurn: String(CAP) }, { name: 'batches' }],
    ...{ faults: FAULTS, seed, slotMs: SLOT_MS },
    postgres: [`max_connections=${MAX_CONNECTIONS}`],
  });
  const machines: Machine[] = [];
  for (const apartMs of CLOCKS_APART_MS) machines.push(await opened.openMachine(WORDS, apartMs));
  for (const machine of machines) await machine.start();
  const [free, capped, batches] = opened.projects as [MachineProject, MachineProject, MachineProject];
  return { ...opened, projects: { free, capped, batches }, machines };
}
