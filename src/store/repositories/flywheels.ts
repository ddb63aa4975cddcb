/** Flywheels: one row for each token. */
import type { Selectable } from 'kysely';
import type { Address } from '../../values/address.js';
import { fromJson, fromU64TextOrNull, toU64TextOrNull } from '../column-values.js';
import type { FlywheelRecord } from '../records.js';
import type { Session } from '../session.js';
import type { FlywheelRepository } from '../store.js';
import type { FlywheelTable } from '../tables.js';

const toRecord = (row: Selectable<FlywheelTable>): FlywheelRecord => ({
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
      })
      .execute();
  },

  async ofToken(tokenId) {
    const row = await db
      .selectFrom('flywheels')
      .selectAll()
      .where('token_id', '=', tokenId)
      .executeTakeFirst();
    return row && toRecord(row);
  },
});
