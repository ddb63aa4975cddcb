/** Filters, limits and pagination of the lists that a service returns. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { ActionName } from '../actions/registry.js';
import type { Reply } from '../contract/call.js';
import { MAX_PAGE_ITEMS } from '../contract/limits.js';
import { invalidInput } from '../errors/flywheel-error.js';
import type { Session } from './command.js';
import { addressOption, readInteger, timeOption } from './options.js';
import { countText } from './views/unit.js';

export const pipelineFilters = <
  Args extends unknown[],
  Options extends Record<string, unknown>,
  Action extends ActionName,
>(
  command: Command<Args, Options>,
  actions: readonly Action[],
) =>
  command
    .option('--type <type>', 'only with this proof type')
    .addOption(new Option('--action <action>', 'only with this action').choices(actions))
    .option('--proof-hash <hash>', 'only with this proof hash')
    .option('--recipient <address>', 'only with an airdrop to this address')
    .option('--tx <signature>', 'only with this transaction');

/** The fields that have a value. */
export const given = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: Exclude<Fields[Name], undefined>;
  };

/** The typed filters with their API names. @throws `ERR_INPUT_INVALID` */
export const pipelineQuery = <Action extends ActionName>({
  type,
  action,
  proofHash,
  recipient,
  tx,
}: Partial<Record<'type' | 'proofHash' | 'recipient' | 'tx', string>> & { action?: Action }) =>
  given({
    ...{ type, action, proofHash: proofHash?.toLowerCase(), txHash: tx },
    toAddress: recipient === undefined ? undefined : addressOption('--recipient', recipient),
  });

/** The typed bounds as ISO text. @throws `ERR_INPUT_INVALID` */
export function timesQuery(
  { context }: Pick<Session, 'context'>,
  options: { readonly since?: string | undefined; readonly until?: string | undefined },
) {
  const nowMs = context.clock.nowMs();
  const since = timeOption('--since', options.since, nowMs);
  const until = timeOption('--until', options.until, nowMs);
  if (since !== undefined && until !== undefined && since >= until)
    throw invalidInput('--since must be before --until.');
  return given({ since, until });
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** @param usual - the default limit, for the help page */
export const pageOptions = <Args extends unknown[], Options extends Record<string, unknown>>(
  command: Command<Args, Options>,
  usual: string,
) =>
  command
    .option('--limit <n>', `maximum number of items (default: ${usual})`)
    .option('--cursor <cursor>', 'continue after an earlier page');

/** CSV is for bookkeeping, so it has all items by default. @throws `ERR_INPUT_INVALID` for an invalid limit */
export const partOf = (
  { output }: Pick<Session, 'output'>,
  { limit, cursor }: { readonly limit?: string | undefined; readonly cursor?: string | undefined },
  { most, fallback }: { readonly most: number; readonly fallback: number },
) => ({
  limit:
    limit === undefined ? (output.mode === 'csv' ? most : fallback) : readInteger('--limit', limit, 1, most),
  cursor,
});

/** Reads pages up to the limit, and prints the next cursor. A page may be empty without being the last. */
export async function listedItems<Item>(
  { output }: Session,
  { limit, cursor: start }: ReturnType<typeof partOf>,
  ask: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Reply<Page<Item>>>,
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
  // A program does not see that a list is cut.
  if (cursor !== undefined)
    output[output.mode === 'human' ? 'tellBelow' : 'warn'](
      `The list has more than ${countText(items.length, 'item')}. Set --limit, or continue with --cursor ${cursor}`,
    );
  return items;
}
