/** Batches of a token, newest first, and what each pipeline of one was and did (contract, section 1.7). */
import { isSourceAction } from '../../actions/registry.js';
import { dateLanded } from '../../chain/chain.js';
import {
  type BatchPipelinesQuery,
  batchPipelinesQuerySchema,
  type ListBatchesQuery,
  listBatchesQuerySchema,
  type PipelineState,
} from '../../contract/schemas/batch.js';
import { DEFAULT_PAGE_ITEMS } from '../../contract/schemas/page.js';
import { parseInput } from '../../contract/validate.js';
import type { BatchRecord, BundleRecord } from '../../store/records.js';
import type { BatchFilter, ListedBatch, ListedBatches } from '../../store/repositories/batches.js';
import type { Store } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import { operation } from '../operation.js';
import {
  askedKey,
  badCursor,
  idCursor,
  indexCursor,
  readIdCursor,
  readIndexCursor,
  soughtIn,
} from '../pages.js';
import { createPause } from '../pause.js';
import { isFinal } from './batch-claim.js';
import { type BatchOwner, ownerOf } from './batch-context.js';
import { batchView } from './batch-view.js';
import { findBatch } from './get-batch.js';

/** Times that the store is asked for one page: so many batches are looked at where it reads their pipelines, each time a few. */
const MAX_LOOKS = 25;

export const listBatches = operation('listBatches', {
  parse: (input, { principal }) => ({
    query: soughtIn(parseInput(listBatchesQuerySchema, input)),
    owner: ownerOf(principal),
  }),
  perform: async ({ deps: { store }, input: { query, owner } }) => {
    const { limit = DEFAULT_PAGE_ITEMS, cursor } = query;
    const filter = filterOf(query, owner);
    const pause = createPause();
    const items: ListedBatch[] = [];
    let before = await ordinalAt(store, owner, cursor);
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      const found: ListedBatches = await store.read((tx) =>
        tx.batches.list({
          ...filter,
          limit: limit - items.length,
          ...(before === undefined ? {} : { before }),
        }),
      );
      items.push(...found.items);
      before = found.next ?? undefined;
      if (before === undefined || items.length === limit || filter.holds === undefined) break;
      await pause();
    }
    const last = before;
    const nextCursor = last === undefined ? null : idCursor(await store.read((tx) => tx.batches.idAt(last)));
    return {
      value: { items: items.map((batch) => batchView(batch, owner)), nextCursor },
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
  const { status, txHash, since, until, type, proofHash, action, toAddress, idempotencyKey } = query;
  const holds = { type, proofHashes: proofHash?.split(','), action, toAddress };
  const isAny = Object.values(holds).every((value) => value === undefined);
  return {
    tokenId: token.id,
    status,
    txHash,
    idempotencyKey: askedKey(idempotencyKey),
    ...(since === undefined ? {} : { since: isoTime(Date.parse(since)) }),
    ...(until === undefined ? {} : { until: isoTime(Date.parse(until)) }),
    ...(isAny ? {} : { holds }),
  };
}

export const batchPipelines = operation('batchPipelines', {
  parse: (input) => parseInput(batchPipelinesQuerySchema, input),
  perform: async ({ deps, principal, input }) => {
    const { batchId, limit = DEFAULT_PAGE_ITEMS, cursor } = input;
    const batch = await findBatch(deps, principal, batchId);
    const stored = await deps.store.read((tx) => tx.bundles.ofBatch(batch.id, ['EXECUTE']));
    const signatures = landedSignatures(stored);
    const from = cursor === undefined ? 0 : readIndexCursor(cursor);
    const wanted: PipelineState[] = [];
    let next = from;
    for (; next < batch.pipelines.length && wanted.length < limit; next += 1) {
      const pipeline = pipelineState(batch, next, signatures.get(next));
      if (isAskedFor(pipeline, input)) wanted.push(pipeline);
    }
    const records = await deps.chain.lookUp(wanted.flatMap(({ txHash = [] }) => txHash));
    const dates = new Map(
      records.flatMap((record) => (record === null ? [] : [[record.signature, dateLanded(record)] as const])),
    );
    const permitted = principal.key.proofTypes;
    const items = wanted.map((found) => {
      const mayRead = permitted?.includes(found.type) ?? true;
      const pipeline = mayRead ? found : { ...found, payload: '' };
      const dateExecuted = dates.get(pipeline.txHash ?? '');
      return dateExecuted === undefined ? pipeline : { ...pipeline, dateExecuted };
    });
    const nextCursor = next < batch.pipelines.length ? indexCursor(next) : null;
    return { value: { items, nextCursor }, meta: { replayed: false, cost: batch.cost } };
  },
});

const isAskedFor = (pipeline: PipelineState, query: BatchPipelinesQuery): boolean =>
  (query.type ?? pipeline.type) === pipeline.type &&
  (query.proofHash?.split(',').includes(pipeline.proofHash) ?? true) &&
  (query.state ?? pipeline.state) === pipeline.state &&
  (query.txHash === undefined || query.txHash === pipeline.txHash) &&
  (query.action === undefined || pipeline.actions.some(({ action }) => action === query.action)) &&
  (query.toAddress === undefined ||
    pipeline.actions.some(
      (action) =>
        isSourceAction(action) && action.action === 'AIRDROP' && action.toAddress === query.toAddress,
    ));

/** By the index of the pipeline. */
function landedSignatures(stored: readonly BundleRecord[]): ReadonlyMap<number, string> {
  const landed = stored.filter(({ status }) => status === 'LANDED');
  return new Map(
    landed.flatMap(({ first, transactions }) =>
      transactions.map(({ signature }, index) => [first + index, signature] as const),
    ),
  );
}

/** What a pipeline was and did; when it landed is not looked up here. */
function pipelineState(batch: BatchRecord, index: number, txHash: string | undefined): PipelineState {
  const pipeline = batch.pipelines[index];
  const { type = '', payload = '', actions = [], proofHash = '' } = pipeline ?? {};
  const common = { index, type, payload, actions: [...actions], proofHash };
  if (txHash !== undefined) return { ...common, state: 'EXECUTED', txHash };
  const { executeResult } = batch;
  if (!isFinal(batch) || executeResult === null) return { ...common, state: 'WAITING' };
  // Executed by members with other tools: which transaction it was is not known here.
  if (index < executeResult.totalSuccessful) return { ...common, state: 'EXECUTED' };
  const { failedOnTransactionIndex, failedTxMsg } = executeResult;
  if (index !== failedOnTransactionIndex) return { ...common, state: 'NOT_EXECUTED' };
  return { ...common, state: 'FAILED', ...(failedTxMsg === undefined ? {} : { message: failedTxMsg }) };
}
