/** API keys, by their hash. */
import type { Selectable } from 'kysely';
import type { Sha256 } from '../../values/digest.js';
import type { Scope } from '../../values/schemas.js';
import { fromJson, fromJsonOrNull, toJsonOrNull } from '../column-values.js';
import type { ApiKeyRecord } from '../records.js';
import { expectAffected, type Session } from '../session.js';
import type { ApiKeyRepository } from '../store.js';
import type { ApiKeyTable } from '../tables.js';

export const toApiKey = (row: Selectable<ApiKeyTable>): ApiKeyRecord => ({
  id: row.id,
  tokenId: row.token_id,
  hash: row.hash as Sha256,
  scopes: fromJson<Scope[]>(row.scopes),
  proofTypes: fromJsonOrNull<string[]>(row.proof_types),
  dateCreated: row.date_created,
  dateRevoked: row.date_revoked,
  dateExpires: row.date_expires,
  rotatedFrom: row.rotated_from,
});

export const apiKeyRepository = ({ db }: Session): Omit<ApiKeyRepository, 'withProject'> => ({
  async insert(key) {
    await db
      .insertInto('api_keys')
      .values({
        id: key.id,
        token_id: key.tokenId,
        hash: key.hash,
        scopes: JSON.stringify(key.scopes),
        proof_types: toJsonOrNull(key.proofTypes),
        date_created: key.dateCreated,
        date_revoked: key.dateRevoked,
        date_expires: key.dateExpires,
        rotated_from: key.rotatedFrom,
      })
      .execute();
  },

  async byHash(hash) {
    const row = await db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst();
    return row && toApiKey(row);
  },

  async get(id) {
    const row = await db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toApiKey(row);
  },

  async ofToken(tokenId) {
    const rows = await db
      .selectFrom('api_keys')
      .selectAll()
      .where('token_id', '=', tokenId)
      .orderBy('date_created')
      .orderBy('id')
      .execute();
    return rows.map(toApiKey);
  },

  async successorOf(id) {
    const row = await db
      .selectFrom('api_keys')
      .selectAll()
      .where('rotated_from', '=', id)
      .where('date_revoked', 'is', null)
      .executeTakeFirst();
    return row && toApiKey(row);
  },

  async expire(id, dateExpires) {
    const { numUpdatedRows } = await db
      .updateTable('api_keys')
      .set({ date_expires: dateExpires })
      .where('id', '=', id)
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no API key ${id} to end.`);
  },

  async revoke(id, dateRevoked) {
    // The first revocation stands: coalesce keeps its time.
    const { numUpdatedRows } = await db
      .updateTable('api_keys')
      .set((column) => ({ date_revoked: column.fn.coalesce('date_revoked', column.val(dateRevoked)) }))
      .where('id', '=', id)
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no API key ${id} to revoke.`);
  },
});
