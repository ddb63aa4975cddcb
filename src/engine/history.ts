/** Every burn and every airdrop of a token that landed, newest first (contract, section 1.7). */

import { DEFAULT_PAGE_ITEMS } from '../contract/limits.js';
import { type HistoryItem, historyQuerySchema } from '../contract/schemas/report.js';
import { parseInput } from '../contract/validate.js';
import type { Moved } from '../store/repositories/pipelines.js';
import { isoTime } from '../values/time.js';
import { formatTokenAmount } from '../values/token-amount.js';
import type { Uuid } from '../values/uuid.js';
import { requireToken } from './authenticate.js';
import { operation } from './operation.js';
import { movedCursor, permittedTypes, readMovedCursor, soughtIn } from './pages.js';

export const history = operation('history', {
  parse: (input, { principal }) => ({
    query: soughtIn(parseInput(historyQuerySchema, input)),
    token: requireToken(principal),
  }),
  perform: async ({ deps, principal, input: { query, token } }) => {
    const { limit = DEFAULT_PAGE_ITEMS, cursor, action, type, proofHash, toAddress, txHash, batchId } = query;
    const { since, until } = query;
    const before = cursor === undefined ? undefined : readMovedCursor(cursor);
    const rows = await deps.store.read((tx) =>
      tx.pipelines.moved({
        ...{ tokenId: token.id, kind: action, types: permittedTypes(principal, type), batchId, before },
        ...{ proofHashes: proofHash?.split(','), recipient: toAddress, signature: txHash },
        since: since && isoTime(Date.parse(since)),
        until: until && isoTime(Date.parse(until)),
        limit: limit + 1,
      }),
    );
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return {
      value: {
        items: items.map((moved) => itemOf(moved, token.decimals)),
        nextCursor: rows.length > limit && last !== undefined ? movedCursor(last) : null,
      },
      meta: { replayed: false },
    };
  },
});

function itemOf(moved: Moved, decimals: number): HistoryItem {
  const { kind, date, amount, recipient, type, proofHash, signature, batchId } = moved;
  return {
    ...{ action: kind, date, amount: formatTokenAmount(amount, decimals), type, hash: proofHash },
    ...(recipient === null ? {} : { toAddress: recipient }),
    ...(signature === null ? {} : { txHash: signature }),
    ...(batchId === null ? {} : { batchId: batchId as Uuid }),
  };
}
