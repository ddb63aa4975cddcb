/** The environment of the torture: three projects, a faulty chain, and clocks minutes apart. */
import {
  type Machine,
  type MachineProject,
  type Machines,
  type MachinesOptions,
  openMachines,
} from '../../support/machines.js';

/** Each server's clock minus the true time. */
const CLOCKS_APART_MS = [0, -7 * 60_000, 11 * 60_000] as const;
/** Few enough to be exhausted. */
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

/** Daily cap of one project's burns, in whole tokens. */
export const CAP = 0.002;

/** Requests a minute for each key, over all servers. */
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
