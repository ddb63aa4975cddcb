/** Compares the chain with the store: known signatures, gaps, and the line of history. */
import { sql } from 'kysely';
import { piecesOf } from '../../values/pieces.js';
import type { GapRecord, LostTransaction } from '../records.js';
import type { Row } from '../schema.js';
import { insertAll, type StoreSession, tableOf } from '../session.js';

const SIGNED = ['burns', 'bundleTransactions', 'issuedVotes', 'pipelines', 'gapTransactions'] as const;

/** Signatures that the store has recorded: before sending, for pipelines that members executed, or in a gap. */
export const signatureRepository = ({ db }: StoreSession) => ({
  async known(
    signatures: readonly string[],
    tables: readonly (typeof SIGNED)[number][] = SIGNED,
  ): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const piece of piecesOf(signatures)) {
      const parts = tables.map(
        (table) => sql`select signature from ${sql.table(table)} where signature in (${sql.join(piece)})`,
      );
      const { rows } = await sql<{ signature: string }>`${sql.join(parts, sql` union all `)}`.execute(db);
      for (const { signature } of rows) found.add(signature);
    }
    return found;
  },
});

/** The line of history of the last write. */
export type Lineage = Pick<Row<'progress'>, 'lineage' | 'heldUntil'>;

export const lineageRepository = (session: StoreSession, { db } = session) => ({
  progress: () => db.selectFrom('progress').selectAll().executeTakeFirstOrThrow(),

  set: ({ lineage, heldUntil }: Lineage): Promise<void> =>
    tableOf(session, 'progress').change({ id: 'store' }, { lineage, heldUntil }),

  async bind(genesis: string): Promise<void> {
    const { change, find } = tableOf(session, 'progress');
    if ((await find({ genesis })) === undefined) await change({ genesis: null }, { genesis });
  },
});

const NOTHING = { burns: 0, burned: 0n, airdropped: 0n, transactions: 0 };

function sumOf(before: GapRecord | undefined, lost: readonly LostTransaction[]) {
  const { burns, burned, airdropped, transactions } = before ?? NOTHING;
  return {
    burns: burns + lost.filter((one) => one.burned > 0n).length,
    burned: lost.reduce((sum, one) => sum + one.burned, burned),
    airdropped: lost.reduce((sum, one) => sum + one.airdropped, airdropped),
    transactions: transactions + lost.length,
  };
}

export const gapRepository = (session: StoreSession) => {
  const { db } = session;
  const gaps = tableOf(session, 'gaps');
  const open = (tokenId: string): Promise<GapRecord | undefined> => gaps.find({ tokenId, status: 'OPEN' });
  return {
    change: gaps.change,

    /** A project has at most one open gap. */
    open,

    allOpen: () => gaps.list({ status: 'OPEN' }, 'order by date_found, id'),

    /** Opens a gap, or adds to the open one. @param lost - at least one, in the order in which they landed */
    async add(
      gap: Pick<GapRecord, 'id' | 'tokenId' | 'dateFound'>,
      lost: readonly LostTransaction[],
    ): Promise<void> {
      const before = await open(gap.tokenId);
      const sum = sumOf(before, lost);
      const gapId = before?.id ?? gap.id;
      if (before === undefined) await gaps.insert({ ...gap, ...sum, status: 'OPEN' });
      else await gaps.change({ id: gapId }, sum);
      const from = before?.transactions ?? 0;
      await insertAll(
        session,
        'gapTransactions',
        lost.map((one, at) => ({ ...one, gapId, position: from + at })),
      );
    },

    transactions: (gapId: string): Promise<readonly LostTransaction[]> =>
      tableOf(session, 'gapTransactions', 'gapId', 'position').list({ gapId }, 'order by position'),

    /** The newest transaction of the account up to which its history was checked. */
    mark: async (account: string): Promise<string | undefined> =>
      (await tableOf(session, 'chainMarks').find({ account }))?.signature,

    setMark: async (tokenId: string, account: string, signature: string): Promise<void> =>
      void (await db
        .insertInto('chainMarks')
        .values({ account, tokenId, signature })
        .onConflict((conflict) => conflict.column('account').doUpdateSet({ signature }))
        .execute()),
  };
};
