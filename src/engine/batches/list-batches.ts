/** Batches of a token, newest first, and what each pipeline of one was and did (contract, section 1.7). */
import { dateLanded } from '../../chain/chain.js';
import {
  batchPipelinesQuerySchema,
  listBatchesQuerySchema,
  type PipelineState,
} from '../../contract/schemas/batch.js';
import { DEFAULT_PAGE_ITEMS } from '../../contract/schemas/page.js';
import { parseInput } from '../../contract/validate.js';
import type { BatchRecord, BundleRecord } from '../../store/records.js';
import { isoTime } from '../../values/time.js';
import { operation } from '../operation.js';
import { cursorNumber, toCursor } from '../pages.js';
import { isFinal } from './batch-claim.js';
import { ownerOf } from './batch-context.js';
import { batchView } from './batch-view.js';
import { findBatch } from './get-batch.js';

export const listBatches = operation('listBatches', {
  parse: (input, { principal }) => ({
    query: parseInput(listBatchesQuerySchema, input),
    owner: ownerOf(principal),
  }),
  perform: async ({ deps, input: { query, owner } }) => {
    const { status, since, until, limit = DEFAULT_PAGE_ITEMS, cursor } = query;
    const before = cursorNumber(cursor);
    const found = await deps.store.read((tx) =>
      tx.batches.list({
        tokenId: owner.token.id,
        limit: limit + 1,
        ...(status === undefined ? {} : { status }),
        ...(since === undefined ? {} : { since: isoTime(Date.parse(since)) }),
        ...(until === undefined ? {} : { until: isoTime(Date.parse(until)) }),
        ...(before === undefined ? {} : { before }),
      }),
    );
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const nextCursor = found.length > limit && last !== undefined ? toCursor(last.ordinal) : null;
    const items = shown.map(({ batch }) => batchView(batch, owner));
    return { value: { items, nextCursor }, meta: { replayed: false } };
  },
});

export const batchPipelines = operation('batchPipelines', {
  parse: (input) => parseInput(batchPipelinesQuerySchema, input),
  perform: async ({ deps, principal, input }) => {
    const { batchId, limit = DEFAULT_PAGE_ITEMS, cursor } = input;
    const batch = await findBatch(deps, principal, batchId);
    const from = cursorNumber(cursor) ?? 0;
    const to = Math.min(from + limit, batch.pipelines.length);
    const stored = await deps.store.read((tx) => tx.bundles.ofBatch(batch.id));
    const signatures = landedSignatures(stored);
    const wanted = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
    const records = await deps.chain.lookUp(wanted.flatMap((index) => signatures.get(index) ?? []));
    const dates = new Map(
      records.flatMap((record) => (record === null ? [] : [[record.signature, dateLanded(record)] as const])),
    );
    const items = wanted.map((index) => pipelineState(batch, index, signatures.get(index), dates));
    const nextCursor = to < batch.pipelines.length ? toCursor(to) : null;
    return { value: { items, nextCursor }, meta: { replayed: false, cost: batch.cost } };
  },
});

/** By the index of the pipeline. */
function landedSignatures(stored: readonly BundleRecord[]): ReadonlyMap<number, string> {
  const landed = stored.filter(({ phase, status }) => phase === 'EXECUTE' && status === 'LANDED');
  return new Map(
    landed.flatMap(({ first, transactions }) =>
      transactions.map(({ signature }, index) => [first + index, signature] as const),
    ),
  );
}

function pipelineState(
  batch: BatchRecord,
  index: number,
  txHash: string | undefined,
  dates: ReadonlyMap<string, string | undefined>,
): PipelineState {
  const pipeline = batch.pipelines[index];
  const { type = '', payload = '', actions = [], proofHash = '' } = pipeline ?? {};
  const common = { index, type, payload, actions: [...actions], proofHash };
  const dateExecuted = txHash === undefined ? undefined : dates.get(txHash);
  if (txHash !== undefined) {
    return { ...common, state: 'EXECUTED', txHash, ...(dateExecuted === undefined ? {} : { dateExecuted }) };
  }
  const { executeResult } = batch;
  if (!isFinal(batch) || executeResult === null) return { ...common, state: 'WAITING' };
  // Executed by members with other tools: which transaction it was is not known here.
  if (index < executeResult.totalSuccessful) return { ...common, state: 'EXECUTED' };
  const { failedOnTransactionIndex, failedTxMsg } = executeResult;
  if (index !== failedOnTransactionIndex) return { ...common, state: 'NOT_EXECUTED' };
  return { ...common, state: 'FAILED', ...(failedTxMsg === undefined ? {} : { message: failedTxMsg }) };
}
