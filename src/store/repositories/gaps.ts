/** Gaps: what the chain knows of a project and the store does not, and how far each account was looked at. */
import type { Selectable } from 'kysely';
import { invariant } from '../../errors/flywheel-error.js';
import { toU64Text } from '../column-values.js';
import type { GapRepository } from '../gap-repository.js';
import type { GapRecord, LostTransaction } from '../records.js';
import { expectAffected, insertRows, type Session } from '../session.js';
import type { GapTable } from '../tables.js';

const toRecord = (row: Selectable<GapTable>): GapRecord => ({
  id: row.id,
  tokenId: row.token_id,
  status: row.status,
  burns: Number(row.burns),
  burned: BigInt(row.amount),
  airdropped: BigInt(row.airdropped),
  transactions: Number(row.transactions),
  firstSignature: row.first_signature,
  lastSignature: row.last_signature,
  dateFound: row.date_found,
  dateAccepted: row.date_accepted,
});

const openGaps = ({ db }: Session) => db.selectFrom('gaps').selectAll().where('status', '=', 'OPEN');

/** What a gap comes to with more transactions in it. */
function sumOf(before: GapRecord | undefined, lost: readonly LostTransaction[]) {
  const [first] = lost;
  const last = lost.at(-1);
  invariant(first !== undefined && last !== undefined, 'A gap has a transaction.');
  const total = (of: (one: LostTransaction) => bigint): bigint =>
    lost.reduce((sum, one) => sum + of(one), 0n);
  return {
    burns: (before?.burns ?? 0) + lost.filter(({ burned }) => burned > 0n).length,
    amount: toU64Text((before?.burned ?? 0n) + total(({ burned }) => burned)),
    airdropped: toU64Text((before?.airdropped ?? 0n) + total(({ airdropped }) => airdropped)),
    transactions: (before?.transactions ?? 0) + lost.length,
    first_signature: before?.firstSignature ?? first.signature,
    last_signature: last.signature,
  };
}

async function openGap(session: Session, tokenId: string): Promise<GapRecord | undefined> {
  const row = await openGaps(session).where('token_id', '=', tokenId).executeTakeFirst();
  return row && toRecord(row);
}

async function add(
  session: Session,
  gap: Parameters<GapRepository['add']>[0],
  lost: readonly LostTransaction[],
): Promise<void> {
  const { db } = session;
  const before = await openGap(session, gap.tokenId);
  const sum = sumOf(before, lost);
  const id = before?.id ?? gap.id;
  if (before === undefined)
    await db
      .insertInto('gaps')
      .values({
        ...{ id, token_id: gap.tokenId, status: 'OPEN', ...sum },
        ...{ date_found: gap.dateFound, date_accepted: null },
      })
      .execute();
  else await db.updateTable('gaps').set(sum).where('id', '=', id).execute();
  const rows = lost.map(({ signature, burned, airdropped, memo, dateLanded }, index) => ({
    ...{ gap_id: id, position: (before?.transactions ?? 0) + index, signature },
    ...{ burned: toU64Text(burned), airdropped: toU64Text(airdropped) },
    ...{ memo, date_landed: dateLanded },
  }));
  await insertRows(session, 'gap_transactions', rows, (piece) =>
    db.insertInto('gap_transactions').values(piece).compile(),
  );
}

export const gapRepository = (session: Session): GapRepository => ({
  open: (tokenId) => openGap(session, tokenId),

  async allOpen() {
    return (await openGaps(session).orderBy('date_found').orderBy('id').execute()).map(toRecord);
  },

  add: (gap, lost) => add(session, gap, lost),

  async transactions(id) {
    const rows = await session.db
      .selectFrom('gap_transactions')
      .selectAll()
      .where('gap_id', '=', id)
      .orderBy('position')
      .execute();
    return rows.map((row) => ({
      signature: row.signature,
      burned: BigInt(row.burned),
      airdropped: BigInt(row.airdropped),
      memo: row.memo,
      dateLanded: row.date_landed,
    }));
  },

  async accept(id, dateAccepted) {
    const { numUpdatedRows } = await session.db
      .updateTable('gaps')
      .set({ status: 'ACCEPTED', date_accepted: dateAccepted })
      .where('id', '=', id)
      .where('status', '=', 'OPEN')
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no open gap ${id}.`);
  },

  async mark(account) {
    const row = await session.db
      .selectFrom('chain_marks')
      .select('signature')
      .where('account', '=', account)
      .executeTakeFirst();
    return row?.signature;
  },

  async setMark(tokenId, account, signature) {
    await session.db
      .insertInto('chain_marks')
      .values({ account, token_id: tokenId, signature })
      .onConflict((conflict) => conflict.column('account').doUpdateSet({ signature }))
      .execute();
  },
});
