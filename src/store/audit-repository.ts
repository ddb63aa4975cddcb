/** Who administered what, in a transaction of the store. */
import type { AuditEntry, NewAuditEntry } from './records.js';

/** Which administrative acts to list. */
export interface AuditFilter {
  /** Of one project; of all where it is missing. */
  readonly tokenId?: string;
  /** ISO times, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
}

/** Who administered what. What is written stays: no entry is ever changed or removed. */
export interface AuditRepository {
  append(entry: NewAuditEntry): Promise<void>;
  /** Newest first. */
  list(filter: AuditFilter): Promise<readonly AuditEntry[]>;
}
