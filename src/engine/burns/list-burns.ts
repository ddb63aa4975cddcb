/** Burns of a token, newest first (contract, section 1.7). */

import { DEFAULT_PAGE_ITEMS } from '../../contract/limits.js';
import { type BurnState, listBurnsQuerySchema } from '../../contract/schemas/burn.js';
import { parseInput } from '../../contract/validate.js';
import type { BurnRecord, BurnStatus, TokenRecord } from '../../store/records.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { requireToken } from '../authenticate.js';
import { operation } from '../operation.js';
import {
  askedKey,
  badCursor,
  boundsOf,
  permittedTypes,
  placeCursor,
  readPlaceCursor,
  soughtIn,
} from '../pages.js';

/** What a state is called outside. */
const SHOWN = {
  PENDING: 'PENDING',
  CONFIRMED: 'SUCCESS',
  FINAL: 'SUCCESS',
  FAILED: 'FAILED',
} as const satisfies Readonly<Record<BurnStatus, BurnState['status']>>;

const shownAs = (status: BurnState['status']): readonly BurnStatus[] =>
  (Object.keys(SHOWN) as BurnStatus[]).filter((one) => SHOWN[one] === status);

export const listBurns = operation('listBurns', {
  parse: (input, { principal }) => ({
    query: soughtIn(parseInput(listBurnsQuerySchema, input)),
    token: requireToken(principal),
  }),
  perform: async ({ deps, principal, input: { query, token } }) => {
    const { limit = DEFAULT_PAGE_ITEMS, cursor, type, proofHash, idempotencyKey, status, txHash } = query;
    const statuses = status && shownAs(status);
    const types = permittedTypes(principal, type);
    const { items, last } = await deps.store.read(async ({ burns }) => {
      const before =
        cursor === undefined ? undefined : await burns.sequenceAt(token.id, readPlaceCursor(cursor));
      if (cursor !== undefined && before === undefined) throw badCursor();
      const page = await burns.list({
        tokenId: token.id,
        limit,
        txHash,
        statuses,
        proofHashes: proofHash?.split(','),
        idempotencyKey: askedKey(idempotencyKey),
        ...(types === undefined ? {} : { types }),
        ...boundsOf(query),
        ...(before === undefined ? {} : { before }),
      });
      return { items: page.items, last: page.next === null ? null : await burns.placeOf(page.next) };
    });
    return {
      value: {
        items: items.map((burn) => burnState(burn, token)),
        nextCursor: last && placeCursor(last),
      },
      meta: { replayed: false },
    };
  },
});

function burnState(
  burn: Omit<BurnRecord, 'transaction'>,
  { decimals }: Pick<TokenRecord, 'decimals'>,
): BurnState {
  const { proofHash, signature, proofType, amount, persistOnchain, status, dateCreated, dateSettled } = burn;
  const { errorCode, errorMessage, feeLamports } = burn;
  return {
    hash: proofHash,
    txHash: signature,
    type: proofType,
    amount: formatTokenAmount(amount, decimals),
    persistOnchain,
    status: SHOWN[status],
    dateCreated,
    ...(SHOWN[status] === 'SUCCESS' && dateSettled !== null ? { dateBurned: dateSettled } : {}),
    ...(feeLamports === null ? {} : { feeLamports: feeLamports.toString() }),
    ...(errorCode === null ? {} : { error: { type: errorCode, message: errorMessage ?? '' } }),
  };
}
