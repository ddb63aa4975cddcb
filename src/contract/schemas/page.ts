/** What queries of lists have in common: how many items, from where on, between which times. */

import * as z from 'zod';
import { parseTime } from '../../values/time.js';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../limits.js';

/** Items of one page at most, and unless another number is asked for (contract, section 1.7). */
export const MAX_PAGE_ITEMS = 200;
export const DEFAULT_PAGE_ITEMS = 50;

/** How many items a page may have. */
export const pageLimitSchema = z
  .number('expected a whole number')
  .int('expected a whole number')
  .min(1, 'expected at least 1')
  .max(MAX_PAGE_ITEMS, `expected at most ${MAX_PAGE_ITEMS}`)
  .optional()
  .meta({ description: `Items of a page. Default: ${DEFAULT_PAGE_ITEMS}.` });
/** Where a page begins. */
export const cursorSchema = z
  .string()
  .max(200, 'expected a cursor')
  .optional()
  .meta({ description: '`nextCursor` of the page before.' });
/** Where the next page begins. */
export const nextCursorSchema = z
  .string()
  .nullable()
  .meta({ description: '`cursor` of the next page; null on the last page.' });
/** Only what was asked for under one idempotency key. */
export const askedKeySchema = z
  .string()
  .max(MAX_IDEMPOTENCY_KEY_LENGTH, 'expected an idempotency key')
  .optional()
  .meta({ description: 'Requested with this idempotency key.' });
/** A time that bounds a list. */
export const timeBoundSchema = z
  .string()
  .refine((text) => parseTime(text) !== undefined, 'expected an ISO 8601 date-time')
  .optional();
