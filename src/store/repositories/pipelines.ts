/** Pipelines of batches with their outcome; and the list of all token movements, of burns and pipelines. */
import { type RawBuilder, sql } from 'kysely';
import type { MovingActionName } from '../../actions/registry.js';
import type { Address } from '../../values/address.js';
import type { PlannedPipeline, StoredAction } from '../records.js';
import { given, insertAll, LANDED, type StoreSession, tableOf, within } from '../session.js';
import { isOfProof, isOneOf } from './pages.js';

const NOT_PLANNED = ['batchId', 'tokenId', 'position', 'signature', 'dateLanded'] as const;

export interface PipelineFilter {
  readonly type?: string | undefined;
  readonly proofHashes?: readonly string[] | undefined;
  readonly action?: string | undefined;
  readonly toAddress?: string | undefined;
}

export interface Landing {
  readonly position: number;
  /** `null` if the chain does not tell it. */
  readonly signature: string | null;
  readonly dateLanded: string;
}

export interface PipelinesQuery extends PipelineFilter {
  readonly batchId: string;
  readonly txHash?: string | undefined;
  readonly hasLanded?: boolean | undefined;
  /** Only this position, or all others. */
  readonly at?: number | undefined;
  readonly notAt?: number | undefined;
  readonly from: number;
  readonly limit: number;
}

/** Tokens burned or airdropped, by a burn or by an action of a pipeline. */
export interface MovedRow {
  readonly kind: MovingActionName;
  readonly date: string;
  readonly amount: bigint;
  readonly recipient: Address | null;
  readonly type: string;
  readonly proofHash: string;
  /** `null` if members of the multisig sent the transaction and the chain does not tell which it was. */
  readonly signature: string | null;
  /** `null` for a single burn. */
  readonly batchId: string | null;
  /** Orders rows of the same date; part of the pagination cursor. */
  readonly place: MovedPlace;
}

/** For a burn: its request's id and its index. For an action: batch id, pipeline position and action number. */
interface MovedPlace {
  readonly id: string;
  readonly position: number;
  readonly number: number;
}

export interface MovedFilter {
  readonly tokenId: string;
  readonly kind?: MovedRow['kind'] | undefined;
  readonly types?: readonly string[] | undefined;
  readonly proofHashes?: readonly string[] | undefined;
  readonly recipient?: string | undefined;
  readonly signature?: string | undefined;
  readonly batchId?: string | undefined;
  /** ISO times, inclusive and exclusive. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Only rows after this one in the list. */
  readonly before?: ({ readonly date: string } & MovedPlace) | undefined;
  readonly limit: number;
}

const hasAction = (condition: RawBuilder<unknown>) =>
  sql<boolean>`exists (select 1 from pipeline_actions where pipeline_actions.batch_id = pipelines.batch_id
    and pipeline_actions.position = pipelines.position and ${condition})`;

export const pipelineConditions = ({ type, proofHashes, action, toAddress }: PipelineFilter) => [
  ...given(type, (one) => sql<boolean>`pipelines.type = ${one}`),
  ...given(proofHashes, isOfProof),
  ...given(action, (one) => hasAction(sql`kind = ${one}`)),
  ...given(toAddress, (one) => hasAction(sql`recipient = ${one}`)),
];

export const pipelineRepository = (session: StoreSession) => {
  const { db } = session;
  const { change } = tableOf(session, 'pipelines');

  return {
    /** @param actions - one list for each pipeline, in base units */
    async insert(
      batch: { readonly id: string; readonly tokenId: string },
      planned: readonly PlannedPipeline[],
      actions: readonly (readonly StoredAction[])[],
    ): Promise<void> {
      const rows = planned.map((pipeline, position) => ({
        ...pipeline,
        ...{ batchId: batch.id, tokenId: batch.tokenId, position },
      }));
      await insertAll(session, 'pipelines', rows);
      const parts = actions.flatMap((of, position) =>
        of.map((action, number) => ({ ...action, batchId: batch.id, position, number })),
      );
      await insertAll(session, 'pipelineActions', parts);
    },

    ofBatch: (batchId: string): Promise<readonly PlannedPipeline[]> =>
      tableOf(session, 'pipelines', ...NOT_PLANNED).list({ batchId }, sql`order by position`),

    list: ({ batchId, txHash, hasLanded, at, notAt, from, limit, ...filter }: PipelinesQuery) => {
      const conditions = [
        sql`position >= ${from}`,
        ...given(hasLanded, (isOne) => sql`date_landed ${isOne ? sql`is not null` : sql`is null`}`),
        ...given(notAt, (one) => sql`position <> ${one}`),
        ...pipelineConditions(filter),
      ];
      const rest = sql`and ${sql.join(conditions, sql` and `)} order by position limit ${limit}`;
      return tableOf(session, 'pipelines', 'batchId', 'tokenId').list(
        { batchId, signature: txHash, position: at },
        rest,
      );
    },

    /** Marks only pipelines that have not landed. @throws `ERR_INTERNAL` if one has */
    async land(batchId: string, landings: readonly Landing[]): Promise<void> {
      for (const { position, ...landing } of landings)
        await change({ batchId, position, dateLanded: null }, landing);
    },

    amounts: (batchId: string) =>
      tableOf(session, 'pipelines', 'payload', 'actions', 'message').list(
        { batchId },
        sql`order by position`,
      ),

    /** Burns and airdrops, newest first: one row for each movement of tokens. */
    async moved(filter: MovedFilter): Promise<readonly MovedRow[]> {
      const { tokenId, kind, types, proofHashes, recipient, signature, batchId } = filter;
      const { since, until, before, limit } = filter;
      // A literal limit: with a parameter SQLite scans in list order instead of using the signature's index.
      const most = sql.lit(limit);
      const and = (conditions: readonly RawBuilder<unknown>[]) => sql.join(conditions, sql` and `);
      /** Conditions that burns and pipelines share. @param place - columns of id, position and number */
      const both = (date: string, typeName: string, place: string) => [
        sql`token_id = ${tokenId}`,
        ...within(date, { since, until }),
        ...given(types, (some) => isOneOf(typeName, some)),
        ...given(proofHashes, isOfProof),
        ...given(signature, (one) => sql`signature = ${one}`),
        ...given(
          before,
          (one) =>
            sql`(${sql.raw(`${date}, ${place}`)}) < (${one.date}, ${one.id}, ${one.position}, ${one.number})`,
        ),
      ];
      const burns = sql`select 'BURN' as kind, date_settled as date_moved, amount, cast(null as text) as recipient, proof_type as type,
          proof_hash, signature, cast(null as text) as batch_id, request_id as id, "index" as position, 0 as number
        from burns where ${LANDED} and date_settled is not null
          and ${and(both('date_settled', 'proof_type', 'request_id, "index", 0'))}
        order by date_settled desc, request_id desc, "index" desc limit ${most}`;
      const actions = sql`select a.kind, p.date_landed as date_moved, a.amount, a.recipient, p.type, p.proof_hash, p.signature, p.batch_id,
          p.batch_id as id, p.position, a.number
        from pipelines as p join pipeline_actions as a on a.batch_id = p.batch_id and a.position = p.position
        where p.date_landed is not null and a.amount is not null and ${and([
          ...both('p.date_landed', 'p.type', 'p.batch_id, p.position, a.number'),
          ...given(kind, (one) => sql`a.kind = ${one}`),
          ...given(recipient, (one) => sql`a.recipient = ${one}`),
          ...given(batchId, (one) => sql`p.batch_id = ${one}`),
        ])}
        order by p.date_landed desc, p.batch_id desc, p.position desc, a.number desc limit ${most}`;
      const hasBurns = (kind ?? 'BURN') === 'BURN' && recipient === undefined && batchId === undefined;
      const all = hasBurns
        ? sql`select * from (${burns}) as burned union all select * from (${actions}) as acted`
        : actions;
      const { rows } = await sql<
        Omit<MovedRow, 'date' | 'place'> & MovedPlace & { readonly dateMoved: string }
      >`
        select * from (${all}) as moved order by date_moved desc, id desc, position desc, number desc limit ${most}`.execute(
        db,
      );
      return rows.map(({ dateMoved: date, id, position, number, ...row }) => ({
        ...row,
        ...{ date, place: { id, position: Number(position), number: Number(number) } },
      }));
    },
  };
};
