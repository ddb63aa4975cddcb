/** API keys of a registration: make, list, revoke. Every change is written down with who made it. */
import type { ApiKeyCreated, ApiKeyInfo, KeyTerms } from '../../contract/admin.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { ApiKeyRecord, FlywheelRecord, TokenRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Secret } from '../../values/secret.js';
import { isoTime } from '../../values/time.js';
import { apiKeyHash, createApiKey } from '../authenticate.js';
import type { EngineDeps } from '../deps.js';
import { recordAct } from './audit.js';

/** Stores the hash of a new key; the key itself is in the answer only. */
export async function insertKey(
  deps: Pick<EngineDeps, 'ids'>,
  tx: StoreTransaction,
  tokenId: string,
  terms: KeyTerms,
): Promise<ApiKeyCreated> {
  const key = createApiKey(deps.ids);
  const { name = null, scopes, proofTypes } = terms;
  const id = deps.ids.uuid();
  await tx.apiKeys.insert({
    id,
    tokenId,
    hash: apiKeyHash(key),
    ...{ name, scopes, proofTypes },
    dateCreated: isoTime(tx.nowMs),
    dateRevoked: null,
    dateExpires: null,
  });
  return { id, key: key.reveal(), name, scopes };
}

const MAX_NAME_LENGTH = 64;

/** @throws `ERR_INVALID_REQUEST` for a proof type that the flywheel does not have, or a name that is none. */
function checkKeyTerms(flywheel: FlywheelRecord, terms: KeyTerms): void {
  const { name = null } = terms;
  if (name !== null && (name.trim() === '' || name.length > MAX_NAME_LENGTH || /\p{Cc}/u.test(name)))
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `The name of a key has 1 to ${MAX_NAME_LENGTH} visible characters, got ${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))}.`,
    );
  const unknown = (terms.proofTypes ?? []).filter((type) => !flywheel.proofTypes.includes(type));
  if (unknown.length === 0) return;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The project has no proof type ${unknown.join(', ')}. It has ${flywheel.proofTypes.join(', ')}.`,
  );
}

/** @param own - the key that asks for it. */
export const keyInfo = (record: ApiKeyRecord, own: Secret | null): ApiKeyInfo => ({
  id: record.id,
  name: record.name,
  isInUse: own !== null && record.hash === apiKeyHash(own),
  scopes: record.scopes,
  proofTypes: record.proofTypes,
  dateCreated: record.dateCreated,
  dateRevoked: record.dateRevoked,
  dateExpires: record.dateExpires,
});

/** @throws `ERR_NOT_FOUND` for a key that is not there, or another project's. */
async function requireKey(tx: StoreTransaction, tokenId: string, id: string): Promise<ApiKeyRecord> {
  const record = await tx.apiKeys.get(id);
  if (record !== undefined && record.tokenId === tokenId) return record;
  throw new FlywheelError('ERR_NOT_FOUND', `No API key ${id}.`, {
    hint: 'List the keys: `flywheel keys list`',
  });
}

/** A further key. */
export async function createKey(
  deps: Pick<EngineDeps, 'ids' | 'actor' | 'store'>,
  { token, flywheel }: { readonly token: TokenRecord; readonly flywheel: FlywheelRecord },
  terms: KeyTerms,
): Promise<ApiKeyCreated> {
  checkKeyTerms(flywheel, terms);
  return deps.store.transaction(async (tx) => {
    const created = await insertKey(deps, tx, token.id, terms);
    await recordAct(deps, tx, {
      ...{ tokenId: token.id, action: 'keys.create', subject: created.id },
      detail: { name: created.name, scopes: terms.scopes, proofTypes: terms.proofTypes },
    });
    return created;
  });
}

/** @param afterMs - for how long it stays valid. @param own - the key that asks for it. @throws `ERR_NOT_FOUND` */
export async function revokeKey(
  deps: EngineDeps,
  tokenId: string,
  id: string,
  { afterMs, own }: { readonly afterMs: number; readonly own: Secret | null },
): Promise<ApiKeyInfo> {
  return deps.store.transaction(async (tx) => {
    const record = await requireKey(tx, tokenId, id);
    if (record.dateRevoked !== null) return keyInfo(record, own);
    const date = isoTime(tx.nowMs + afterMs);
    // Nothing prolongs a key that ends before.
    if (afterMs > 0 && record.dateExpires !== null && record.dateExpires <= date) return keyInfo(record, own);
    if (afterMs === 0) await tx.apiKeys.revoke(id, date);
    else await tx.apiKeys.expire(id, date);
    const end = afterMs === 0 ? { dateRevoked: date } : { dateExpires: date };
    const detail = { name: record.name, ...end };
    await recordAct(deps, tx, { tokenId, action: 'keys.revoke', subject: id, detail });
    return keyInfo({ ...record, ...end }, own);
  });
}
