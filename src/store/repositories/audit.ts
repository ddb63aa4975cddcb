/** Who administered what. What is written stays: no entry is ever changed or removed. */
import type { AuditEntry, NewAuditEntry } from '../records.js';
import { given, insertAll, type Session } from '../session.js';

/** Which administrative acts to list. */
export interface AuditFilter {
  /** Of one project; of all where it is missing. */
  readonly tokenId?: string;
  /** ISO times, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
}

export const auditRepository = (session: Session, { db } = session) => ({
  append: (entry: NewAuditEntry): Promise<void> => insertAll(session, 'auditLog', [entry]),

  /** Newest first. */
  list: ({ tokenId, since, until, limit }: AuditFilter): Promise<readonly AuditEntry[]> =>
    db
      .selectFrom('auditLog')
      .selectAll()
      .where((eb) =>
        eb.and([
          ...given(tokenId, (id) => eb('tokenId', '=', id)),
          ...given(since, (date) => eb('dateCreated', '>=', date)),
          ...given(until, (date) => eb('dateCreated', '<', date)),
        ]),
      )
      .orderBy('ordinal', 'desc')
      .limit(limit)
      .execute(),
});
