/** Batches of a token, newest first, and what each pipeline of one was and did (contract, section 1.7). */
import { dateLanded } from '../../chain/chain.js';
import { DEFAULT_PAGE_ITEMS } from '../../contract/limits.js';
import {
  type BatchPipelinesQuery,
  batchPipelinesQuerySchema,
  type ListBatchesQuery,
  listBatchesQuerySchema,
  type PipelineState,
} from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import type { BatchHead } from '../../store/records.js';
import type { BatchFilter } from '../../store/repositories/batches.js';
import type { PipelineRow, PipelinesQuery } from '../../store/repositories/pipelines.js';
import type { Store } from '../../store/store.js';
import { operation } from '../operation.js';
import {
  askedKey,
  badCursor,
  boundsOf,
  idCursor,
  indexCursor,
  readIdCursor,
  readIndexCursor,
  soughtIn,
} from '../pages.js';
import { isFinal } from './batch-claim.js';
import { type BatchOwner, ownerOf } from './batch-context.js';
import { findBatch, listedBatchView } from './get-batch.js';

export const listBatches = operation('listBatches', {
  parse: (input, { principal }) => ({
    query: soughtIn(parseInput(listBatchesQuerySchema, input)),
    owner: ownerOf(principal),
  }),
  perform: async ({ deps: { store }, input: { query, owner } }) => {
    const { limit = DEFAULT_PAGE_ITEMS, cursor } = query;
    const filter = filterOf(query, owner);
    const before = await ordinalAt(store, owner, cursor);
    const { items, last } = await store.read(async (tx) => {
      const page = await tx.batches.list({ ...filter, limit, ...(before === undefined ? {} : { before }) });
      return { items: page.items, last: page.next === null ? null : await tx.batches.idAt(page.next) };
    });
    const nextCursor = last && idCursor(last);
    return {
      value: { items: items.map((batch) => listedBatchView(batch, owner)), nextCursor },
      meta: { replayed: false },
    };
  },
});

/** Of the batch that a cursor names. @throws `ERR_INVALID_REQUEST` */
async function ordinalAt(
  store: Store,
  { token }: BatchOwner,
  cursor: string | undefined,
): Promise<number | undefined> {
  if (cursor === undefined) return undefined;
  const id = readIdCursor(cursor);
  const ordinal = await store.read((tx) => tx.batches.ordinalOf(token.id, id));
  if (ordinal === undefined) throw badCursor();
  return ordinal;
}

/** Which batches are asked for, whatever page of them. */
function filterOf(query: ListBatchesQuery, { token }: BatchOwner): Omit<BatchFilter, 'limit' | 'before'> {
  const { status, txHash, type, proofHash, action, toAddress, idempotencyKey } = query;
  const holds = { type, proofHashes: proofHash?.split(','), action, toAddress };
  const isAny = Object.values(holds).every((value) => value === undefined);
  return {
    tokenId: token.id,
    status,
    txHash,
    idempotencyKey: askedKey(idempotencyKey),
    ...boundsOf(query),
    ...(isAny ? {} : { holds }),
  };
}

export const batchPipelines = operation('batchPipelines', {
  parse: (input) => {
    const { batchId, ...query } = parseInput(batchPipelinesQuerySchema, input);
    return { batchId, ...soughtIn(query) };
  },
  perform: async ({ deps, principal, input }) => {
    const { limit = DEFAULT_PAGE_ITEMS, cursor } = input;
    const batch = await findBatch(deps, principal, input.batchId);
    const from = cursor === undefined ? 0 : readIndexCursor(cursor);
    const found = await deps.store.read((tx) =>
      tx.pipelines.list({ ...queryOf(batch, input), from, limit: limit + 1 }),
    );
    const rows = found.slice(0, limit);
    const states = rows.map((row) => pipelineState(batch, row));
    const records = await deps.chain.lookUp(states.flatMap(({ txHash = [] }) => txHash));
    const dates = new Map(
      records.flatMap((record) => (record === null ? [] : [[record.signature, dateLanded(record)] as const])),
    );
    const permitted = principal.key.proofTypes;
    const items = states.map((state) => {
      const mayRead = permitted?.includes(state.type) ?? true;
      const dateExecuted = dates.get(state.txHash ?? '');
      return { ...state, ...(mayRead ? {} : { payload: '' }), ...(dateExecuted && { dateExecuted }) };
    });
    const next = found[limit];
    const nextCursor = next === undefined ? null : indexCursor(next.position);
    return { value: { items, nextCursor }, meta: { replayed: false, cost: batch.cost } };
  },
});

/** The rows that are asked for; what of a batch has not landed is in the state that its verdict says. */
function queryOf(batch: BatchHead, query: BatchPipelinesQuery): Omit<PipelinesQuery, 'from' | 'limit'> {
  const { type, proofHash, action, toAddress, txHash, state } = query;
  const asked = { batchId: batch.id, type, proofHashes: proofHash?.split(','), action, toAddress, txHash };
  if (state === undefined) return asked;
  if (state === 'EXECUTED') return { ...asked, hasLanded: true };
  const failedAt = batch.executeResult?.failedOnTransactionIndex;
  const isPossible = isFinal(batch) ? state !== 'WAITING' : state === 'WAITING';
  if (!isPossible || (state === 'FAILED' && failedAt === undefined)) return { ...asked, at: -1 };
  return { ...asked, hasLanded: false, ...(state === 'FAILED' ? { at: failedAt } : { notAt: failedAt }) };
}

/** What a pipeline was and did; when it landed is not looked up here. */
function pipelineState(batch: BatchHead, row: PipelineRow): PipelineState {
  const { position: index, type, payload, proofHash, signature, dateLanded: landed } = row;
  const common = { index, type, payload, actions: [...row.actions], proofHash };
  if (signature !== null) return { ...common, state: 'EXECUTED', txHash: signature };
  // Executed by members with other tools: which transaction it was is not known here.
  if (landed !== null) return { ...common, state: 'EXECUTED' };
  const { executeResult } = batch;
  if (!isFinal(batch) || executeResult === null) return { ...common, state: 'WAITING' };
  const { failedOnTransactionIndex, failedTxMsg } = executeResult;
  if (index !== failedOnTransactionIndex) return { ...common, state: 'NOT_EXECUTED' };
  return { ...common, state: 'FAILED', ...(failedTxMsg === undefined ? {} : { message: failedTxMsg }) };
}
