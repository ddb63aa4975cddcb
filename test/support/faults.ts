/** A spawned command that dies at a moment of its own, or whose clock is wrong. */
import { join } from 'node:path';
import { FILES } from '../simulation/audit/tables.js';

const FAULT_POINTS = join(process.cwd(), 'test/support/fault-points.cjs');

/** So long a killed engine is waited for, and a little. */
export const LEASE_MS = 15_100;

/** What is done to one command. */
export interface Fault {
  readonly signal?: 'SIGINT' | 'SIGKILL';
  /** Which commit, counted from 1 before and after each. */
  readonly point?: number;
  /** Instead of a commit by its number: the first after which this query of the store finds something. */
  readonly when?: string;
  readonly clockAheadMs?: number;
  readonly countFile?: string;
  /** Gets the names of the databases that were committed to, in turn. */
  readonly listFile?: string;
}

export const faultEnvironment = (
  { signal, point, when, clockAheadMs, countFile, listFile }: Fault,
  dataDir: string,
): Record<string, string> => ({
  ...(when === undefined ? {} : { FAULT_WHEN: when, FAULT_WHEN_FILE: join(dataDir, FILES.store) }),
  NODE_OPTIONS: `--require=${FAULT_POINTS}`,
  ...(signal === undefined ? {} : { FAULT_SIGNAL: signal }),
  ...(point === undefined ? {} : { FAULT_POINT: String(point) }),
  ...(clockAheadMs === undefined ? {} : { FAULT_CLOCK_AHEAD_MS: String(clockAheadMs) }),
  ...(countFile === undefined ? {} : { FAULT_COUNT_FILE: countFile }),
  ...(listFile === undefined ? {} : { FAULT_LIST_FILE: listFile }),
});

/** A program over this data directory, with a fault. */
export const faulty = <Place extends { readonly dataDir: string }>(
  place: Place,
  fault: Fault,
): Place & { readonly env: Record<string, string> } => ({
  ...place,
  env: faultEnvironment(fault, place.dataDir),
});
