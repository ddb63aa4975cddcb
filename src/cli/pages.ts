/** Lists that a service answers page by page: how much of one a command asks for, and how it says where the rest begins. */
import type { Command } from '@commander-js/extra-typings';
import type { Reply } from '../contract/call.js';
import { MAX_PAGE_ITEMS } from '../contract/schemas/page.js';
import type { Session } from './command.js';
import { integerOption } from './options/amounts.js';

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** Where a page begins, and how many items it may hold. */
interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

/** How much of a list is asked for. */
interface Part {
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** The options of a list that is shown a part at a time. @param usual - how many items, in words */
export const pageOptions = <Args extends unknown[], Options extends Record<string, unknown>>(
  command: Command<Args, Options>,
  usual: string,
) =>
  command
    .option('--limit <n>', `most items to print (default: ${usual})`)
    .option('--cursor <cursor>', 'continue an earlier list');

/** @throws `ERR_INPUT_INVALID` for a limit that is none. */
export const partOf = (
  options: { readonly limit?: string | undefined; readonly cursor?: string | undefined },
  range: { readonly most: number; readonly fallback: number },
): Part => ({
  limit: integerOption('--limit', options.limit, { least: 1, ...range }),
  cursor: options.cursor,
});

/** The first items of a list, or those behind a cursor; a page may be empty and not be the last. What is left out is said. */
export async function listedItems<Item>(
  { output }: Session,
  { limit, cursor: start }: Part,
  ask: (query: PageQuery) => Promise<Reply<Page<Item>>>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let cursor = start;
  for (let isMore = true; isMore && items.length < limit; ) {
    const query = { limit: Math.min(MAX_PAGE_ITEMS, limit - items.length) };
    const { value } = await ask(cursor === undefined ? query : { ...query, cursor });
    items.push(...value.items);
    cursor = value.nextCursor ?? undefined;
    isMore = cursor !== undefined;
  }
  if (cursor !== undefined) output.tell(`More results: add --cursor ${cursor}`);
  return items;
}
