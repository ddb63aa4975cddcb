/** Reads and writes whole tables for copies, and checks the invariants that no constraint can state. */
import { sql } from 'kysely';
import { sqlName } from '../ddl.js';
import { describe, OPEN_BURN, TABLE_NAMES, type TableName } from '../schema.js';
import { insertAll, type StoreSession } from '../session.js';
import { HALF, SUM } from './usage.js';

export interface Broken {
  readonly name: string;
  readonly what: string;
  readonly wrong: number;
}

interface Rule extends Omit<Broken, 'wrong'> {
  readonly rows: string;
  /** The only database that needs the check; the other one enforces the rule itself. */
  readonly only?: StoreSession['database'];
}

/** Exact sums of `amount` as (high, low), which compare in this order. */
const sums = (by: string, rows: string): string => `
  select ${by}, high + low / ${HALF} as high, low % ${HALF} as low from (
    select ${by}, cast(${SUM.high} as bigint) as high, cast(${SUM.low} as bigint) as low
    from (${rows}) as amounts group by ${by}) as halves`;

const more = (by: string, one: string, other: string): string => {
  const isSame = by.split(', ').map((name) => `one.${name} = other.${name}`);
  return `select 1 from (${sums(by, one)}) as one left join (${sums(by, other)}) as other on ${isSame.join(' and ')}
    where (one.high, one.low) > (coalesce(other.high, 0), coalesce(other.low, 0))`;
};

const COUNTED = 'select token_id, kind, landed as amount from daily_usage';
/** The day of landing, or the day of acceptance if that is later. */
const LANDED_ON =
  'case when day > substr(date_settled, 1, 10) then day else substr(date_settled, 1, 10) end as day';
const BURNS = `select token_id, ${LANDED_ON}, amount from burns where status = 'FINAL'`;

const ACCEPTED = 'gap_transactions where date_accepted is not null';
/** The pipeline counts in its gap instead. */
const IN_GAP =
  'exists (select 1 from gap_transactions where gap_transactions.signature = pipelines.signature)';

/** Everything that counts as landed for good. @param pipelines - SQL condition on pipelines */
const landed = (pipelines: string): string => `
  select token_id, 'burn' as kind, amount from burns where status = 'FINAL'
  union all select token_id, 'burn', burn from pipelines where ${pipelines} and not ${IN_GAP}
  union all select token_id, 'airdrop', airdrop from pipelines where ${pipelines} and not ${IN_GAP}
  union all select token_id, 'burn', burned from ${ACCEPTED}
  union all select token_id, 'airdrop', airdropped from ${ACCEPTED}`;

const RULES: readonly Rule[] = [
  {
    name: 'file',
    what: 'damaged pages or rows',
    only: 'sqlite',
    rows: "select 1 from pragma_integrity_check where integrity_check <> 'ok'",
  },
  {
    name: 'references',
    what: 'rows with broken references',
    only: 'sqlite',
    rows: 'select 1 from pragma_foreign_key_check',
  },
  {
    name: 'caps',
    what: 'days over their cap',
    // A lower cap leaves alone what counted before.
    rows: `select 1 from daily_usage join projects on projects.id = daily_usage.token_id
      where landed > case kind when 'burn' then daily_burn_cap else daily_airdrop_cap end
      and (date_caps_lowered is null or day > substr(date_caps_lowered, 1, 10))`,
  },
  {
    name: 'days',
    what: 'days with more burns than they count',
    rows: more(
      'token_id, day',
      BURNS,
      "select token_id, day, landed as amount from daily_usage where kind = 'burn'",
    ),
  },
  {
    name: 'sums',
    what: 'projects whose days count too little',
    // Pipelines that members executed may be counted before their landing is known.
    rows: more('token_id, kind', landed('signature is not null'), COUNTED),
  },
  {
    name: 'counters',
    what: 'projects whose days count too much',
    rows: more('token_id, kind', COUNTED, landed('date_landed is not null')),
  },
  ...(['burn', 'airdrop'] as const).map((kind): Rule => {
    const actions = `select batch_id, position, amount from pipeline_actions where kind = '${kind.toUpperCase()}'`;
    const pipelines = `select batch_id, position, ${kind} as amount from pipelines`;
    const by = 'batch_id, position';
    return {
      name: `${kind} actions`,
      what: `pipelines whose actions do not add up to what they ${kind}`,
      rows: `${more(by, actions, pipelines)} union all ${more(by, pipelines, actions)}`,
    };
  }),
  {
    name: 'one project',
    what: 'rows that belong to two projects',
    // References cover keys and projects. A request may be deleted before its burns and batches.
    rows: `select 1 from burns join requests on requests.id = burns.request_id where requests.token_id <> burns.token_id
      union all select 1 from batches join requests on requests.id = batches.request_id where requests.token_id <> batches.token_id`,
  },
  {
    name: 'signatures',
    what: 'transactions stored twice',
    // A vote that was issued and came back is also a transaction of its batch.
    rows: `select 1 from (
        select signature from burns union all select signature from gap_transactions
        union all select signature from (select signature from batch_transactions union select signature from issued_votes) as own
      ) as signed group by signature having count(*) > 1`,
  },
  {
    name: 'landings',
    what: 'pipelines with a transaction of another batch',
    // Any other signature is of a transaction of members.
    rows: `select 1 from pipelines join batch_transactions as own on own.signature = pipelines.signature
      where own.batch_id <> pipelines.batch_id or phase <> 'EXECUTE' or own.status <> 'LANDED'`,
  },
  {
    name: 'kept requests',
    what: 'burns that may still land without a request',
    rows: `select 1 from burns where ${OPEN_BURN}
      and not exists (select 1 from requests where requests.id = burns.request_id)`,
  },
  {
    name: 'answers',
    what: 'answered requests with pending burns',
    rows: `select 1 from requests where status = 'done'
      and exists (select 1 from burns where burns.request_id = requests.id and burns.status = 'PENDING')`,
  },
  {
    name: 'executed',
    what: 'executed batches with pipelines that did not land',
    rows: `select 1 from batches where status = 'EXECUTED'
      and exists (select 1 from pipelines where pipelines.batch_id = batches.id and date_landed is null)`,
  },
  {
    name: 'holds',
    what: 'caps reserved for finished batches',
    rows: "select 1 from batches where held_from is not null and (status = 'EXECUTED' or date_closed is not null)",
  },
];

export const ruleRepository = ({ db, database }: StoreSession) => ({
  async check(): Promise<readonly Broken[]> {
    const found: Broken[] = [];
    for (const { name, what, rows, only = database } of RULES) {
      if (only !== database) continue;
      const counted = sql<{ wrong: number }>`select count(*) as wrong from (${sql.raw(rows)}) as broken`;
      found.push({ name, what, wrong: Number((await counted.execute(db)).rows[0]?.wrong) });
    }
    return found;
  },

  async burned(tokenId: string): Promise<bigint> {
    const query = sums('token_id', "select token_id, landed as amount from daily_usage where kind = 'burn'");
    const { rows } = await sql<{ high: number; low: number }>`
      select high, low from (${sql.raw(query)}) as burned where token_id = ${tokenId}`.execute(db);
    return SUM.whole(rows[0] ?? { high: 0, low: 0 });
  },
});

export type AnyRow = Readonly<Record<string, unknown>>;

/** A lineage that no database has: the source may continue after the copy. */
const COPIED = 'copy';

export const rowRepository = (session: StoreSession) => {
  const { db, database } = session;
  return {
    async isEmpty(name: TableName): Promise<boolean> {
      const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db);
      return rows.length === 0;
    },

    /** All rows in key order, with one page in memory at a time. */
    async *pages(name: TableName): AsyncGenerator<readonly AnyRow[]> {
      const { key, rowsPerPage = 500 } = describe(name);
      const keys = sql.join(key.map((column) => sql.ref(column)));
      for (let last: AnyRow | undefined; ; ) {
        const after = last && sql`where (${keys}) > (${sql.join(key.map((column) => last?.[column]))})`;
        const { rows } = await sql<AnyRow>`select * from ${sql.table(name)} ${after ?? sql``}
          order by ${keys} limit ${rowsPerPage}`.execute(db);
        if (rows.length > 0) yield rows;
        if (rows.length < rowsPerPage) return;
        last = rows.at(-1);
      }
    },

    insert: (name: TableName, rows: readonly AnyRow[]) => insertAll(session, name, rows as never),

    /** Takes over the source's genesis and continues after its numbers. */
    async takeOver(genesis: string | null): Promise<void> {
      await db.updateTable('progress').set({ genesis, lineage: COPIED, heldUntil: null }).execute();
      if (database === 'sqlite') {
        await sql`update burn_numbers set last = (select coalesce(max(sequence), 0) from burns)`.execute(db);
        return;
      }
      const goOn = (sequence: ReturnType<typeof sql>, table: TableName, column: string) =>
        sql`select setval(${sequence}, coalesce(max(${sql.ref(column)}), 0) + 1, false) from ${sql.table(table)}`.execute(
          db,
        );
      await goOn(sql`'burn_numbers'`, 'burns', 'sequence');
      for (const table of TABLE_NAMES)
        if ('ordinal' in describe(table).columns)
          await goOn(sql`pg_get_serial_sequence(${sql.lit(sqlName(table))}, 'ordinal')`, table, 'ordinal');
    },
  };
};
