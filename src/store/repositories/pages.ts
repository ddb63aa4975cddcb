/** Pagination, newest first. A call reads a bounded number of rows, so that none takes long. */
import { type RawBuilder, sql } from 'kysely';
import type { KeyedOperationId } from '../../contract/operations.js';
import type { Row } from '../schema.js';
import { columnsBut, given, matching, type StoreSession, within } from '../session.js';

/** 10,000 rows take about 10 ms. */
const MAX_LOOKED_AT = 10_000;

export interface Page {
  readonly tokenId: string;
  /** ISO times of creation, inclusive and exclusive. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  /** Only rows with a smaller number. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface Listed<Item> {
  readonly items: readonly Item[];
  /** The `before` of the next page; `null` on the last page. */
  readonly next: number | null;
}

const LISTS = {
  burns: { number: 'sequence', columns: columnsBut('burns', 'transaction') },
  batches: { number: 'ordinal', columns: columnsBut('batches') },
} as const;

/** @param isBounded - read at most {@link MAX_LOOKED_AT} rows, for conditions without an index */
export async function listed<Name extends keyof typeof LISTS>(
  { db }: StoreSession,
  name: Name,
  { tokenId, since, until, before = Number.MAX_SAFE_INTEGER, limit }: Page,
  conditions: readonly RawBuilder<unknown>[],
  isBounded: boolean,
): Promise<Listed<Omit<Row<Name>, 'transaction'>>> {
  const { number, columns } = LISTS[name];
  const table = sql.table(name);
  const nth = sql.ref(number);
  const older = sql`token_id = ${tokenId} and ${nth} < ${before}`;
  const bound = sql<{ oldest: number }>`select ${nth} as oldest from ${table}
    where ${older} order by ${nth} desc limit 1 offset ${MAX_LOOKED_AT - 1}`;
  const oldest = isBounded ? (await bound.execute(db)).rows[0]?.oldest : undefined;
  const all = [
    older,
    ...given(oldest, (one) => sql`${nth} >= ${one}`),
    ...within('date_created', { since, until }),
    ...conditions,
  ];
  const { rows } = await sql<Row<Name> & Record<string, number>>`
    select ${columns} from ${table}
    where ${sql.join(all, sql` and `)} order by ${nth} desc limit ${limit + 1}`.execute(db);
  const items = rows.slice(0, limit);
  const next = rows.length > limit ? items.at(-1)?.[number] : oldest;
  return { items, next: next ?? null };
}

/** PostgreSQL rejects an empty `in ()`. */
export const isOneOf = (column: string, some: readonly string[]) =>
  some.length === 0 ? sql<boolean>`false` : sql<boolean>`${sql.raw(column)} in (${sql.join(some)})`;

const KEYED: readonly KeyedOperationId[] = ['burn', 'burnBatch', 'initBatch'];

export const isOfKey = (tokenId: string, value: string) =>
  sql<boolean>`request_id in (select id from requests where ${matching<'requests'>({ tokenId, operation: KEYED, value })})`;

/** The index holds the hash's first 16 characters. */
export const isOfProof = (hashes: readonly string[]) =>
  sql<boolean>`(substr(proof_hash, 1, 16) in (${sql.join(hashes.map((one) => one.slice(0, 16)))}) and proof_hash in (${sql.join(hashes)}))`;
