/** Lists that a service answers page by page. */
import type { Reply } from '../contract/call.js';
import { MAX_PAGE_ITEMS } from '../contract/schemas/page.js';

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** Where a page begins, and how many items it may hold. */
export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

/** The first `limit` items of a list; a page may be empty and not be the last. */
export async function firstItems<Item>(
  limit: number,
  ask: (query: PageQuery) => Promise<Reply<Page<Item>>>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let cursor: string | undefined, isMore = true; isMore && items.length < limit; ) {
    const query = { limit: Math.min(MAX_PAGE_ITEMS, limit - items.length) };
    const { value } = await ask(cursor === undefined ? query : { ...query, cursor });
    items.push(...value.items);
    cursor = value.nextCursor ?? undefined;
    isMore = cursor !== undefined;
  }
  return items;
}
