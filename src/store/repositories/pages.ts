/** Lists a page at a time, newest first, of which no call takes long: only so many rows are looked at. */
import { sql } from 'kysely';
import type { Session } from '../session.js';

/** About 10 ms. */
const MAX_LOOKED_AT = 10_000;

/** Which part of a list. */
export interface Page {
  readonly tokenId: string;
  /** Only what is older than the one with this number. */
  readonly before?: number;
  readonly limit: number;
}

/** A part of a list. */
export interface Listed<Item> {
  readonly items: readonly Item[];
  /** What to give as `before` for those after them, `null` when there are none. */
  readonly next: number | null;
}

/** The column that numbers the rows, by their table. */
const NUMBERS = { burns: 'sequence', batches: 'ordinal' } as const;

/** The number of the oldest row that is looked at, or `undefined` when nothing is older than what is. */
export async function oldestLookedAt(
  { db }: Session,
  table: keyof typeof NUMBERS,
  { tokenId, before = Number.MAX_SAFE_INTEGER }: Page,
): Promise<number | undefined> {
  const number = sql.ref(NUMBERS[table]);
  const { rows } = await sql<{ oldest: number }>`select ${number} as oldest from ${sql.table(table)}
    where token_id = ${tokenId} and ${number} < ${before} order by ${number} desc
    limit 1 offset ${MAX_LOOKED_AT - 1}`.execute(db);
  return rows[0]?.oldest;
}

/** @param rows - one more than is listed, if there are as many. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  { limit }: Page,
  numberOf: (row: Row) => number,
  toItem: (row: Row) => Item,
  oldest: number | undefined,
): Listed<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? numberOf(last) : oldest;
  return { items: shown.map(toItem), next: next ?? null };
}

/** Is a row of one of these proofs? The index holds a part of the hash. */
export const isOfProof = (hashes: readonly string[]) =>
  sql<boolean>`(substr(proof_hash, 1, 16) in (${sql.join(hashes.map((one) => one.slice(0, 16)))}) and proof_hash in (${sql.join(hashes)}))`;
