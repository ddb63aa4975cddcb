/**
 * A key in the place of another: the same rights under a new secret, while the old one stays valid for a time. The new key is
 * given by who rotates, and is safe with them before this is called: a rotation whose answer was lost is made again with the
 * same key, and changes nothing the second time.
 */
import type { ApiKeyRotated } from '../../contract/admin.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { ApiKeyRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Secret } from '../../values/secret.js';
import { isoTime } from '../../values/time.js';
import { apiKeyHash, isOver } from '../authenticate.js';
import type { EngineDeps } from '../deps.js';
import { recordAct } from './audit.js';
import { keyInfo, requireKey } from './keys.js';

export interface Rotation {
  readonly id: string;
  /** The new key. */
  readonly key: Secret;
  /** For how long the old one stays valid. */
  readonly graceMs: number;
}

const refuse = (message: string, hint: string): FlywheelError =>
  new FlywheelError('ERR_INVALID_REQUEST', message, { hint });

/**
 * The key that is to be rotated.
 * @throws `ERR_NOT_FOUND`, `ERR_INVALID_REQUEST` for one that is not valid any more: what it could do, nobody can.
 */
export async function requireRotatable(
  tx: StoreTransaction,
  tokenId: string,
  id: string,
): Promise<ApiKeyRecord> {
  const old = await requireKey(tx, tokenId, id);
  const hint = 'Make one with `flywheel keys create`.';
  if (old.dateRevoked !== null)
    throw refuse(`The API key ${id} was revoked on ${old.dateRevoked}; nothing was changed.`, hint);
  if (isOver(old, tx.nowMs) && (await tx.apiKeys.successorOf(id)) === undefined)
    throw refuse(`The API key ${id} ended on ${old.dateExpires}; nothing was changed.`, hint);
  return old;
}

/** @throws `ERR_NOT_FOUND`, `ERR_INVALID_REQUEST` where another key has taken its place already. */
export async function rotateKey(
  deps: EngineDeps,
  tokenId: string,
  { id, key, graceMs }: Rotation,
): Promise<ApiKeyRotated> {
  const hash = apiKeyHash(key);
  return deps.store.transaction(async (tx) => {
    const old = await requireRotatable(tx, tokenId, id);
    const known = await tx.apiKeys.successorOf(id);
    if (known?.hash === hash) return { ...keyInfo(known), validUntil: old.dateExpires };
    if (known !== undefined)
      throw refuse(
        `The API key ${id} was rotated on ${known.dateCreated} to ${known.id}; nothing was changed.`,
        `Rotate ${known.id} in its turn. Is that key lost? \`flywheel keys revoke ${known.id}\`, then run this again.`,
      );
    const nowMs = tx.nowMs;
    const successor: ApiKeyRecord = {
      id: deps.ids.uuid(),
      tokenId,
      hash,
      scopes: old.scopes,
      proofTypes: old.proofTypes,
      dateCreated: isoTime(nowMs),
      dateRevoked: null,
      dateExpires: null,
      rotatedFrom: id,
    };
    if ((await tx.apiKeys.byHash(hash)) !== undefined)
      throw refuse('That key is in use already; nothing was changed.', 'Name another file with --out.');
    const validUntil = isoTime(nowMs + graceMs);
    await tx.apiKeys.insert(successor);
    await tx.apiKeys.expire(id, validUntil);
    await recordAct(deps, tx, {
      ...{ tokenId, action: 'keys.rotate', subject: id },
      detail: { newKeyId: successor.id, validUntil },
    });
    return { ...keyInfo(successor), validUntil };
  });
}
