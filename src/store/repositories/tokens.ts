/** Tokens: one row for each mint that the engine serves. */
import type { Selectable } from 'kysely';
import type { TokenGeneration, TokenProgramName } from '../../contract/admin.js';
import type { Address } from '../../values/address.js';
import { toU64Text } from '../column-values.js';
import type { TokenRecord } from '../records.js';
import type { Session } from '../session.js';
import type { TokenRepository } from '../store.js';
import type { TokenTable } from '../tables.js';

export const toToken = (row: Selectable<TokenTable>): TokenRecord => ({
  id: row.id,
  name: row.name,
  symbol: row.symbol,
  mintAddress: row.mint_address as Address,
  decimals: row.decimals,
  tokenProgram: row.token_program as TokenProgramName,
  generation: row.generation as TokenGeneration,
  supply: BigInt(row.supply),
  burnWallet: row.burn_wallet as Address,
  burnTokenAccount: row.burn_token_account as Address,
  dateCreated: row.date_created,
});

export const tokenRepository = ({ db }: Session): TokenRepository => ({
  async insert(token) {
    await db
      .insertInto('tokens')
      .values({
        id: token.id,
        name: token.name,
        symbol: token.symbol,
        mint_address: token.mintAddress,
        decimals: token.decimals,
        token_program: token.tokenProgram,
        generation: token.generation,
        supply: toU64Text(token.supply),
        burn_wallet: token.burnWallet,
        burn_token_account: token.burnTokenAccount,
        date_created: token.dateCreated,
      })
      .execute();
  },

  async get(id) {
    const row = await db.selectFrom('tokens').selectAll().where('id', '=', id).executeTakeFirst();
    return row && toToken(row);
  },

  async byMint(mintAddress) {
    const row = await db
      .selectFrom('tokens')
      .selectAll()
      .where('mint_address', '=', mintAddress)
      .executeTakeFirst();
    return row && toToken(row);
  },

  async list() {
    const rows = await db.selectFrom('tokens').selectAll().orderBy('date_created').orderBy('id').execute();
    return rows.map(toToken);
  },
});
