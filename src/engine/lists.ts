/** Paginated lists: burns, and the history (contract, section 1.7). */
import { DEFAULT_PAGE_ITEMS } from '../contract/limits.js';
import { type BurnState, listBurnsQuerySchema } from '../contract/schemas/burn.js';
import { type HistoryItem, historyQuerySchema } from '../contract/schemas/report.js';
import { invalidRequest, parseInput } from '../contract/validate.js';
import type { BurnRecord, BurnStatus, ProjectRecord } from '../store/records.js';
import type { MovedFilter, MovedRow } from '../store/repositories/pipelines.js';
import type { Uuid } from '../values/ids.js';
import { parseTime } from '../values/time.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { done, operation, type Principal } from './operation.js';

/** @throws `ERR_INVALID_REQUEST` for a NUL, which PostgreSQL rejects. */
export function soughtIn<Query extends object>(query: Query): Query {
  const bad = Object.entries(query).find(([, value]) => typeof value === 'string' && value.includes('\0'));
  if (bad !== undefined) throw invalidRequest([`${bad[0]}: expected text without NUL characters`]);
  return query;
}

function permittedTypes({ key: { proofTypes } }: Pick<Principal, 'key'>, asked: string | undefined) {
  if (asked === undefined) return proofTypes ?? undefined;
  return [asked].filter((one) => proofTypes?.includes(one) ?? true);
}

export const badCursor = (): Error => invalidRequest(['cursor: expected a cursor']);

/** @throws `ERR_INVALID_REQUEST` */
export function readCursor(cursor: string, form: RegExp): readonly string[] {
  const found = form.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  if (found === null) throw badCursor();
  return found.slice(1);
}

export const cursorOf = (...parts: readonly (string | number)[]): string =>
  Buffer.from(parts.join(' '), 'latin1').toString('base64url');

const BURN = /^([\w-]{1,64}) (\d{1,9})$/;
const MOVED = /^(\S{1,40}) ([\w-]{1,64}) (\d{1,9}) (\d{1,9})$/;

function readBurnCursor(cursor: string): Pick<BurnRecord, 'requestId' | 'index'> {
  const [requestId = '', index] = readCursor(cursor, BURN);
  return { requestId, index: Number(index) };
}

function readMovedCursor(cursor: string): NonNullable<MovedFilter['before']> {
  const [date = '', id = '', position, number] = readCursor(cursor, MOVED);
  if (parseTime(date) === undefined) throw badCursor();
  return { date, id, position: Number(position), number: Number(number) };
}

const SHOWN = {
  PENDING: 'PENDING',
  CONFIRMED: 'SUCCESS',
  FINAL: 'SUCCESS',
  FAILED: 'FAILED',
} as const satisfies Readonly<Record<BurnStatus, BurnState['status']>>;

const shownAs = (status: BurnState['status']): readonly BurnStatus[] =>
  (Object.keys(SHOWN) as BurnStatus[]).filter((one) => SHOWN[one] === status);

export const listBurns = operation('listBurns', {
  parse: (input) => soughtIn(parseInput(listBurnsQuerySchema, input)),
  perform: async ({ deps, principal, input: query }) => {
    const { project } = principal;
    const { limit = DEFAULT_PAGE_ITEMS, cursor, type, proofHash, status, ...asked } = query;
    const { items, last } = await deps.store.read(async ({ burns }) => {
      const place = cursor === undefined ? undefined : { tokenId: project.id, ...readBurnCursor(cursor) };
      const before = place && (await burns.find(place))?.sequence;
      if (cursor !== undefined && before === undefined) throw badCursor();
      const page = await burns.list({
        ...{ ...asked, tokenId: project.id, limit, before, statuses: status && shownAs(status) },
        ...{ types: permittedTypes(principal, type), proofHashes: proofHash?.split(',') },
      });
      return { items: page.items, last: page.next && (await burns.find({ sequence: page.next })) };
    });
    return done({
      items: items.map((burn) => burnState(burn, project)),
      nextCursor: last ? cursorOf(last.requestId, last.index) : null,
    });
  },
});

function burnState(
  burn: Omit<BurnRecord, 'transaction'>,
  { decimals }: Pick<ProjectRecord, 'decimals'>,
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

export const history = operation('history', {
  parse: (input) => soughtIn(parseInput(historyQuerySchema, input)),
  perform: async ({ deps, principal, input: query }) => {
    const { project } = principal;
    const {
      limit = DEFAULT_PAGE_ITEMS,
      cursor,
      action,
      type,
      proofHash,
      toAddress,
      txHash,
      ...asked
    } = query;
    const before = cursor === undefined ? undefined : readMovedCursor(cursor);
    const rows = await deps.store.read((tx) =>
      tx.pipelines.moved({
        ...{ ...asked, tokenId: project.id, kind: action, types: permittedTypes(principal, type), before },
        ...{ proofHashes: proofHash?.split(','), recipient: toAddress, signature: txHash, limit: limit + 1 },
      }),
    );
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    return done({
      items: items.map((moved) => itemOf(moved, project.decimals)),
      nextCursor:
        rows.length > limit && last !== undefined
          ? cursorOf(last.date, last.place.id, last.place.position, last.place.number)
          : null,
    });
  },
});

function itemOf(moved: MovedRow, decimals: number): HistoryItem {
  const { kind, date, amount, recipient, type, proofHash, signature, batchId } = moved;
  return {
    ...{ action: kind, date, amount: formatTokenAmount(amount, decimals), type, hash: proofHash },
    ...(recipient === null ? {} : { toAddress: recipient }),
    ...(signature === null ? {} : { txHash: signature }),
    ...(batchId === null ? {} : { batchId: batchId as Uuid }),
  };
}
