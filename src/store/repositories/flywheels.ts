/** Flywheels: one row for each token. */
import type { Selectable } from 'kysely';
import type { Address } from '../../values/address.js';
import { fromJson, fromU64TextOrNull, toU64TextOrNull } from '../column-values.js';
import type { FlywheelPlace, FlywheelRecord } from '../records.js';
import { expectAffected, type Session } from '../session.js';
import type { FlywheelRepository } from '../store.js';
import type { FlywheelTable } from '../tables.js';

type PlaceJson = Omit<FlywheelPlace, 'minOperatorSol' | 'maxBatchRent'> &
  Readonly<Record<'minOperatorSol' | 'maxBatchRent', string | null>>;

const lamports = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

function placeOf(text: string | null): FlywheelPlace | null {
  if (text === null) return null;
  const { squadsProgram, facts, minOperatorSol, maxBatchRent } = fromJson<PlaceJson>(text);
  return {
    ...{ squadsProgram, facts },
    ...{ minOperatorSol: lamports(minOperatorSol), maxBatchRent: lamports(maxBatchRent) },
  };
}

/** What of a place stands in its column. */
export const placeText = (place: FlywheelPlace): string =>
  JSON.stringify({
    ...place,
    minOperatorSol: place.minOperatorSol?.toString() ?? null,
    maxBatchRent: place.maxBatchRent?.toString() ?? null,
  });

export const toFlywheel = (row: Selectable<FlywheelTable>): FlywheelRecord => ({
  id: row.id,
  tokenId: row.token_id,
  multisig: row.multisig as Address,
  vaultIndex: row.vault_index,
  vault: row.vault_address as Address,
  vaultTokenAccount: row.vault_token_account as Address,
  owner: row.owner as Address,
  operator: row.operator as Address,
  proofTypes: fromJson<string[]>(row.proof_types),
  dailyBurnCap: fromU64TextOrNull(row.daily_burn_cap),
  dailyAirdropCap: fromU64TextOrNull(row.daily_airdrop_cap),
  name: row.name,
  place: placeOf(row.place),
});

export const flywheelRepository = ({ db }: Session): FlywheelRepository => ({
  async insert(flywheel) {
    await db
      .insertInto('flywheels')
      .values({
        id: flywheel.id,
        token_id: flywheel.tokenId,
        multisig: flywheel.multisig,
        vault_index: flywheel.vaultIndex,
        vault_address: flywheel.vault,
        vault_token_account: flywheel.vaultTokenAccount,
        owner: flywheel.owner,
        operator: flywheel.operator,
        proof_types: JSON.stringify(flywheel.proofTypes),
        daily_burn_cap: toU64TextOrNull(flywheel.dailyBurnCap),
        daily_airdrop_cap: toU64TextOrNull(flywheel.dailyAirdropCap),
        name: flywheel.name,
        place: flywheel.place && placeText(flywheel.place),
      })
      .execute();
  },

  async ofToken(tokenId) {
    const row = await db
      .selectFrom('flywheels')
      .selectAll()
      .where('token_id', '=', tokenId)
      .executeTakeFirst();
    return row && toFlywheel(row);
  },

  async byName(name) {
    const row = await db.selectFrom('flywheels').selectAll().where('name', '=', name).executeTakeFirst();
    return row && toFlywheel(row);
  },

  async ofVault(multisig, vaultIndex) {
    const row = await db
      .selectFrom('flywheels')
      .selectAll()
      .where('multisig', '=', multisig)
      .where('vault_index', '=', vaultIndex)
      .executeTakeFirst();
    return row && toFlywheel(row);
  },

  async list(limit) {
    const rows = await db
      .selectFrom('flywheels')
      .selectAll()
      .orderBy('name', (order) => order.asc().nullsLast())
      .orderBy('id')
      .limit(limit)
      .execute();
    return rows.map(toFlywheel);
  },

  async setPlace(id, place) {
    const { numUpdatedRows } = await db
      .updateTable('flywheels')
      .set({ place: placeText(place) })
      .where('id', '=', id)
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no flywheel ${id}.`);
  },
});
