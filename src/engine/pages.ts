/** Cursors of lists: numbers that only the service makes sense of. */
import { invalidRequest } from '../contract/validate.js';

const NUMBER = /^\d{1,15}$/;

/** @throws `ERR_INVALID_REQUEST` for text that is no cursor of ours. */
export function cursorNumber(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  if (!NUMBER.test(text)) throw invalidRequest(['cursor: expected a cursor']);
  return Number(text);
}

export const toCursor = (number: number): string =>
  Buffer.from(String(number), 'latin1').toString('base64url');
