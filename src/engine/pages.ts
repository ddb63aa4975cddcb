/**
 * What lists are asked for, and their cursors, which only the service makes sense of: they name what stands last on a page. The
 * numbers by which the store orders it are no cursors, since they count what all projects do.
 */
import { normalKey } from '../contract/headers.js';
import { invalidRequest } from '../contract/validate.js';
import type { BurnPlace } from '../store/repositories/burns.js';
import type { Moved, MovedFilter } from '../store/repositories/pipelines.js';
import { isoTime, parseTime } from '../values/time.js';
import type { Principal } from './authenticate.js';

const INDEX = /^\d{1,15}$/;
const ID = /^[\w-]{1,64}$/;
const MOVED = /^(\S{1,40}) ([\w-]{1,64}) (\d{1,9}) (\d{1,9})$/;
const PLACE = /^([\w-]{1,64}) (\d{1,9})$/;

/** Texts that are looked for. @throws `ERR_INVALID_REQUEST` for a NUL, which no text here has and PostgreSQL does not take. */
export function soughtIn<Query extends object>(query: Query): Query {
  const bad = Object.entries(query).find(([, value]) => typeof value === 'string' && value.includes('\0'));
  if (bad !== undefined) throw invalidRequest([`${bad[0]}: expected text without NUL`]);
  return query;
}

/** Proof types that a list may show: what is asked for, as far as the key may use it; `undefined` for all. */
export function permittedTypes(
  { key }: Pick<Principal, 'key'>,
  asked: string | undefined,
): readonly string[] | undefined {
  if (asked === undefined) return key.proofTypes ?? undefined;
  return [asked].filter((one) => key.proofTypes?.includes(one) ?? true);
}

/** A span of time as the store keeps times. */
export const boundsOf = ({
  since,
  until,
}: {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}): { readonly since?: string; readonly until?: string } => ({
  ...(since === undefined ? {} : { since: isoTime(Date.parse(since)) }),
  ...(until === undefined ? {} : { until: isoTime(Date.parse(until)) }),
});

/** An idempotency key as requests keep it. */
export const askedKey = (key: string | undefined): string | undefined => key && normalKey(key);

/** For text that is no cursor of this list. */
export const badCursor = (): Error => invalidRequest(['cursor: expected a cursor']);

function read(cursor: string, form: RegExp): RegExpExecArray {
  const found = form.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (found === null) throw badCursor();
  return found;
}

const write = (text: string): string => Buffer.from(text, 'latin1').toString('base64url');

/** Of the pipelines of one batch. @throws `ERR_INVALID_REQUEST` */
export const readIndexCursor = (cursor: string): number => Number(read(cursor, INDEX)[0]);
export const indexCursor = (index: number): string => write(String(index));

/** Of batches, by the id of one. @throws `ERR_INVALID_REQUEST` */
export const readIdCursor = (cursor: string): string => read(cursor, ID)[0];
export const idCursor = (id: string): string => write(id);

/** Of burns. @throws `ERR_INVALID_REQUEST` */
export function readPlaceCursor(cursor: string): BurnPlace {
  const [, requestId = '', index] = read(cursor, PLACE);
  return { requestId, index: Number(index) };
}
export const placeCursor = ({ requestId, index }: BurnPlace): string => write(`${requestId} ${index}`);

/** Of the history. @throws `ERR_INVALID_REQUEST` */
export function readMovedCursor(cursor: string): NonNullable<MovedFilter['before']> {
  const [, date = '', id = '', position, number] = read(cursor, MOVED);
  if (parseTime(date) === undefined) throw badCursor();
  return { date, id, position: Number(position), number: Number(number) };
}
export const movedCursor = ({ date, place }: Moved): string =>
  write(`${date} ${place.id} ${place.position} ${place.number}`);
