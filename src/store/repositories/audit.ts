/** Administrative acts, one row each; constraints of the database keep them as they were written. */
import type { Selectable } from 'kysely';
import type { AuditRepository } from '../audit-repository.js';
import { fromJson } from '../column-values.js';
import type { AuditAction, AuditEntry } from '../records.js';
import { countOn, type Session } from '../session.js';
import type { AuditLogTable } from '../tables.js';

const toRecord = (row: Selectable<AuditLogTable>): AuditEntry => ({
  ordinal: Number(row.ordinal),
  tokenId: row.token_id,
  actor: row.actor,
  action: row.action as AuditAction,
  subject: row.subject,
  detail: fromJson<Record<string, unknown>>(row.detail),
  dateCreated: row.date_created,
});

export const auditRepository = (session: Session): AuditRepository => ({
  async append({ tokenId, actor, action, subject, detail, dateCreated }) {
    const ordinal = await countOn(session, 'audit', 1);
    await session.db
      .insertInto('audit_log')
      .values({
        ordinal,
        token_id: tokenId,
        actor,
        action,
        subject,
        detail: JSON.stringify(detail),
        date_created: dateCreated,
      })
      .execute();
  },

  async list({ tokenId, since, until, limit }) {
    let query = session.db.selectFrom('audit_log').selectAll();
    if (tokenId !== undefined) query = query.where('token_id', '=', tokenId);
    if (since !== undefined) query = query.where('date_created', '>=', since);
    if (until !== undefined) query = query.where('date_created', '<', until);
    const rows = await query.orderBy('ordinal', 'desc').limit(limit).execute();
    return rows.map(toRecord);
  },
});
