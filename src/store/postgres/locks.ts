/** Who may write at the same time, between processes. */
import pg from 'pg';
import type { OfProject } from '../store.js';

/** A lock of this store: one of all that are kept in the same database, each in a schema of its own. */
const lockOf = (what: string): string =>
  `hashtextextended(${pg.escapeLiteral(`${what} `)} || current_schema(), 0)`;

/**
 * What a writer locks, always in this order: the store, shared by those who write one project each and taken whole by all others,
 * then its project. So whoever waits holds nothing that others wait for but in the same order. The time that it waits at most is
 * set first; a list is worked through as it is written.
 */
export function locksOf(of: OfProject | undefined, busyTimeoutMs: number): string {
  const store = lockOf('flywheel store');
  const waits = `select set_config('lock_timeout', '${busyTimeoutMs}', true)`;
  if (of === undefined) return `${waits}, pg_advisory_xact_lock(${store})`;
  const shared = `${waits}, pg_advisory_xact_lock_shared(${store})`;
  if (of.tokenId === null) return shared;
  return `${shared}, pg_advisory_xact_lock(${lockOf(`flywheel project ${of.tokenId}`)})`;
}
