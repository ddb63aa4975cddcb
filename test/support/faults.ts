/** Runs a command that is killed at a chosen commit, or whose clock is wrong. */
import { join } from 'node:path';
import { FILES } from '../simulation/audit/tables.js';

const FAULT_POINTS = join(process.cwd(), 'test/support/fault-points.cjs');

/** The lease of a killed engine (15 s), and a little more. */
export const LEASE_MS = 15_100;

export interface Fault {
  readonly signal?: 'SIGINT' | 'SIGKILL';
  /** Counts from 1, before and after each commit. */
  readonly point?: number;
  /** Counts files that are renamed or removed, and bytes that are sent, too. @default false */
  readonly traces?: boolean;
  /** Instead of `point`: the first commit after which this query of the store finds a row. */
  readonly when?: string;
  /** The database of `when`. @default that of the store */
  readonly whenIn?: string;
  readonly clockAheadMs?: number;
  /** Receives the name of each database at its commit, in order. */
  readonly listFile?: string;
}

export const faultEnvironment = (
  { signal, point, traces, when, whenIn = FILES.store, clockAheadMs, listFile }: Fault,
  dataDir: string,
): Record<string, string> => ({
  ...(when === undefined ? {} : { FAULT_WHEN: when, FAULT_WHEN_FILE: join(dataDir, whenIn) }),
  NODE_OPTIONS: `--require=${FAULT_POINTS}`,
  ...(signal === undefined ? {} : { FAULT_SIGNAL: signal }),
  ...(point === undefined ? {} : { FAULT_POINT: String(point) }),
  ...(traces === true ? { FAULT_TRACES: '1' } : {}),
  ...(clockAheadMs === undefined ? {} : { FAULT_CLOCK_AHEAD_MS: String(clockAheadMs) }),
  ...(listFile === undefined ? {} : { FAULT_LIST_FILE: listFile }),
});

export const faulty = <Place extends { readonly dataDir: string }>(
  place: Place,
  fault: Fault,
): Place & { readonly env: Record<string, string> } => ({
  ...place,
  env: faultEnvironment(fault, place.dataDir),
});
