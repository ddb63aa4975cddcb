/** Building blocks of shapes, and the common query parameters of lists: limit, cursor and times. */
import * as z from 'zod';
import { isoTime, parseTime } from '../../values/time.js';
import { normalKey } from '../headers.js';
import { DEFAULT_PAGE_ITEMS, MAX_IDEMPOTENCY_KEY_LENGTH, MAX_PAGE_ITEMS } from '../limits.js';

export const text = (description: string, ...examples: string[]) =>
  z.string().meta({ description, ...(examples.length === 0 ? {} : { examples }) });
export const textOrNull = (description: string, example: string | null = null) =>
  z
    .string()
    .nullable()
    .meta({ description, examples: [example] });
export const count = (description: string, example = 1) =>
  z
    .number()
    .int()
    .meta({ description, examples: [example] });

/** An id is only looked up, so a text that is no UUID is simply not found. */
export const batchIdSchema = z.string('expected a UUID');

export const pageQuery = {
  limit: z
    .number('expected a whole number')
    .int('expected a whole number')
    .min(1, 'expected at least 1')
    .max(MAX_PAGE_ITEMS, `expected at most ${MAX_PAGE_ITEMS}`)
    .optional()
    .meta({ description: `Items of a page. Default: ${DEFAULT_PAGE_ITEMS}.` }),
  cursor: z
    .string()
    .max(200, 'expected a cursor')
    .optional()
    .meta({ description: '`nextCursor` of the page before.' }),
};

export const pageOf = <Item extends z.ZodType>(id: string, item: Item, items: string, description?: string) =>
  z
    .object({
      items: z.array(item).meta({ description: items }),
      nextCursor: z
        .string()
        .nullable()
        .meta({ description: '`cursor` of the next page; null on the last page.', examples: [null] }),
    })
    .meta({ id, ...(description === undefined ? {} : { description }) });
export const MAY_BE_SHORT = 'A page with fewer items than its limit, even none, may have a next page.';

export const askedKeySchema = z
  .string()
  .max(MAX_IDEMPOTENCY_KEY_LENGTH, 'expected an idempotency key')
  .transform(normalKey)
  .optional()
  .meta({ description: 'Requested with this idempotency key.' });

const timeBound = (description: string) =>
  z
    .string()
    .refine((given) => parseTime(given) !== undefined, 'expected an ISO 8601 date-time')
    .transform((given) => isoTime(Date.parse(given)))
    .optional()
    .meta({ description });

export const timeBounds = (what: string) => ({
  since: timeBound(`${what} at this time or later.`),
  until: timeBound(`${what} before this time.`),
});
