/** Writes down who administered what, in the transaction that does it. */
import type { AuditAct, AuditQuery } from '../../contract/admin.js';
import type { AuditAction, AuditEntry } from '../../store/records.js';
import type { AuditFilter } from '../../store/repositories/audit.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import { requireRegistration } from './find-registration.js';

/** What was done, and to what. */
export interface Act {
  /** `null` for what concerns the whole store. */
  readonly tokenId: string | null;
  readonly action: AuditAction;
  readonly subject: string | null;
  /** Never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Without this row nothing of the act is written either. */
export async function recordAct(
  { actor }: Pick<EngineDeps, 'actor'>,
  tx: StoreTransaction,
  { detail = {}, ...act }: Act,
): Promise<void> {
  await tx.audit.append({ ...act, detail, actor, dateCreated: isoTime(tx.nowMs) });
}

const actOf = (
  { actor, action, subject, detail, dateCreated }: AuditEntry,
  project: string | null,
): AuditAct => ({ date: dateCreated, actor, action, project, subject, detail });

/** Of the project that is named; of all where none is. */
export async function auditFilter(
  { store, project = null }: Pick<EngineDeps, 'store' | 'project'>,
  query: AuditQuery,
): Promise<AuditFilter> {
  if (project === null) return query;
  const { token } = await store.read((tx) => requireRegistration(tx, project));
  return { ...query, tokenId: token.id };
}

/** By what people know a project: its name, or its symbol where the store holds one project. */
async function nameOf(tx: StoreTransaction, tokenId: string): Promise<string> {
  const name = (await tx.flywheels.ofToken(tokenId))?.name ?? null;
  return name ?? (await tx.tokens.get(tokenId))?.symbol ?? tokenId;
}

/** What was administered, newest first. */
export async function listActs(
  { store }: Pick<EngineDeps, 'store'>,
  filter: AuditFilter,
): Promise<readonly AuditAct[]> {
  return store.read(async (tx) => {
    const entries = await tx.audit.list(filter);
    const names = new Map<string, string>();
    for (const tokenId of new Set(entries.map((entry) => entry.tokenId)))
      if (tokenId !== null) names.set(tokenId, await nameOf(tx, tokenId));
    return entries.map((entry) =>
      actOf(entry, entry.tokenId === null ? null : (names.get(entry.tokenId) ?? entry.tokenId)),
    );
  });
}
