/** Compares the chain with the store: known signatures, gaps, and the line of history. */
import { sql } from 'kysely';
import { piecesOf } from '../columns.js';
import type { GapRecord, LostTransaction, RequestRecord } from '../records.js';
import type { Row } from '../schema.js';
import { insertAll, type StoreSession, tableOf } from '../session.js';

const SIGNED = ['burns', 'batchTransactions', 'issuedVotes', 'pipelines', 'gapTransactions'] as const;

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

  /** Binds the store to a ledger, once. @throws `ERR_INTERNAL` if it is bound to another one */
  async bind(genesis: string): Promise<void> {
    const { change, find } = tableOf(session, 'progress');
    if ((await find({ genesis })) === undefined) await change({ genesis: null }, { genesis });
  },
});

export const gapRepository = (session: StoreSession) => {
  const { db } = session;
  const { list, changeAll } = tableOf(session, 'gapTransactions', 'ordinal', 'dateAccepted');
  const allOpen = async (tokenId?: string): Promise<readonly GapRecord[]> => {
    const rows = await list({ tokenId, dateAccepted: null }, sql`order by token_id, ordinal`);
    return [...new Set(rows.map((row) => row.tokenId))].map((id) =>
      gapOf(rows.filter((row) => row.tokenId === id)),
    );
  };
  return {
    allOpen,

    open: async (tokenId: string): Promise<GapRecord | undefined> => (await allOpen(tokenId))[0],

    /** Accepted transactions that were found after a request was begun. */
    acceptedSince: ({ id, tokenId }: Pick<RequestRecord, 'id' | 'tokenId'>) =>
      list(
        { tokenId },
        sql`and date_accepted is not null
          and ordinal > (select last_gap from requests where id = ${id}) order by ordinal`,
      ),

    /**
     * Adds those of the transactions that have no record to the project's open gap.
     * @param lost - in the order in which they landed
     */
    async add(
      found: Pick<GapRecord, 'tokenId' | 'dateFound'>,
      lost: readonly LostTransaction[],
    ): Promise<void> {
      const known = await signatureRepository(session).known(lost.map(({ signature }) => signature));
      const missing = lost.filter(({ signature }) => !known.has(signature));
      await insertAll(
        session,
        'gapTransactions',
        missing.map((one) => ({ ...one, ...found })),
      );
    },

    accept: (tokenId: string, dateAccepted: string): Promise<number> =>
      changeAll({ tokenId, dateAccepted: null }, { dateAccepted }),

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

function gapOf(lost: readonly (LostTransaction & Pick<GapRecord, 'tokenId' | 'dateFound'>)[]): GapRecord {
  const [{ tokenId, dateFound }] = lost as readonly [(typeof lost)[number]];
  const sum = (name: 'burned' | 'airdropped') => lost.reduce((total, one) => total + one[name], 0n);
  return {
    ...{ tokenId, dateFound, lost, transactions: lost.length },
    burns: lost.filter(({ burned }) => burned > 0n).length,
    ...{ burned: sum('burned'), airdropped: sum('airdropped') },
  };
}
