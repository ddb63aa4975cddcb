/**
 * Reading batches: by id, the current one, lists, and the state of each pipeline (service specification, sections 2.5, 4.3 and
 * 4.4; contract, section 1.7).
 */
import { decodeVaultMessage, vaultMessageInstructions } from '../../chain/squads/message.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type { Reply } from '../../contract/call.js';
import { DEFAULT_PAGE_ITEMS } from '../../contract/limits.js';
import {
  type Batch,
  batchPipelinesQuerySchema,
  getBatchRequestSchema,
  type InitBatchResult,
  type ListedBatch,
  listBatchesQuerySchema,
  type PipelineState,
} from '../../contract/schemas/batch.js';
import type { InputOf } from '../../contract/service.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type {
  BatchHead,
  BatchRecord,
  IssuedVote,
  PlannedPipeline,
  ProjectRecord,
} from '../../store/records.js';
import type { PipelinesQuery } from '../../store/repositories/pipelines.js';
import type { Row } from '../../store/schema.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import { isUuid, type Uuid } from '../../values/ids.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { badCursor, cursorOf, readCursor, soughtIn } from '../lists.js';
import { done, notPermitted, operation, type Principal } from '../operation.js';
import { currentRecord, isFinal, withCost } from './batch-context.js';

/** @throws `ERR_BATCH_NOT_FOUND` for an unknown id, and for a batch of another token. */
async function findBatch(tx: StoreTransaction, principal: Principal, batchId: string): Promise<BatchHead> {
  const id = batchId.toLowerCase();
  const batch = isUuid(id) ? await tx.batches.find({ id }) : undefined;
  if (batch === undefined || batch.tokenId !== principal.project.id) {
    throw new FlywheelError('ERR_BATCH_NOT_FOUND', `No batch ${batchId.slice(0, 64)}.`);
  }
  return batch;
}

/** A batch that the key may act on. @throws `ERR_INVALID_PROOF` if it may not use a proof type of the batch. */
export async function findPermitted(
  tx: StoreTransaction,
  principal: Principal,
  batchId: string,
): Promise<BatchHead> {
  const batch = await findBatch(tx, principal, batchId);
  const { proofTypes } = principal.key;
  if (proofTypes === null) return batch;
  const { pipelines } = await currentRecord(tx, batch.id);
  const foreign = pipelines.find(({ type }) => !proofTypes.includes(type));
  if (foreign !== undefined) throw notPermitted(foreign.type);
  return batch;
}

const reply = (tx: StoreTransaction, principal: Principal, batch: BatchHead): Promise<Reply<Batch>> =>
  withCost(tx, batch.id, batchView(batch, principal.project));

export const getBatch = operation('getBatch', {
  parse: (input) => parseInput(getBatchRequestSchema, input),
  perform: ({ deps, principal, input }) =>
    deps.store.read(async (tx) => reply(tx, principal, await findBatch(tx, principal, input.batchId))),
});

export const currentBatch = operation('currentBatch', {
  parse: () => null,
  perform: async ({ deps, principal }) => {
    try {
      return await deps.store.read(async (tx) => {
        const batch = await tx.batches.current(principal.project.id);
        return batch === undefined ? done(null) : reply(tx, principal, batch);
      });
    } catch (cause) {
      throw new FlywheelError('ERR_BATCH_CURRENT_FAILED', 'The current batch could not be read.', { cause });
    }
  },
});

/** 32 zero bytes: the messages are for reading, not for sending. */
const NO_BLOCKHASH = '11111111111111111111111111111111';

export function batchView(record: BatchHead, project: ProjectRecord): Batch {
  return {
    ...{ id: record.id as Uuid, flywheelId: project.flywheelId, tokenId: record.tokenId },
    ...{ mintAddress: project.mintAddress, status: record.status },
    ...{ batchIndex: record.batchIndex.toString(), vaultIndex: project.vaultIndex.toString() },
    ...{ multisig: project.multisig, vaultAddress: project.vault },
    ...(record.initResult === null ? {} : { initResult: record.initResult }),
    ...(record.executeResult === null ? {} : { executeResult: record.executeResult }),
    ...{ dateCreated: record.dateCreated, dateUpdated: record.dateUpdated },
    ...(record.dateCancelled === null ? {} : { dateCancelled: record.dateCancelled }),
  };
}

const listedBatchView = (record: BatchHead, project: ProjectRecord): ListedBatch => ({
  ...batchView(record, project),
  totals: {
    pipelines: record.pipelineCount,
    burn: formatTokenAmount(record.burn, project.decimals),
    airdrop: formatTokenAmount(record.airdrop, project.decimals),
    recipients: record.recipients,
  },
});

export function initBatchView(
  record: BatchRecord,
  project: ProjectRecord,
  vote: IssuedVote,
): InitBatchResult {
  const pipelines = record.pipelines.map((pipeline) => compiledPipeline(pipeline, project.vault));
  const proposalApproveTx = Buffer.from(vote.transaction).toString('base64');
  return { proposalApproveTx, batch: { ...batchView(record, project), pipelines } };
}

function compiledPipeline(pipeline: PlannedPipeline, vault: Address) {
  const message = decodeVaultMessage(Buffer.from(pipeline.message, 'base64'));
  const instructions = message === undefined ? undefined : vaultMessageInstructions(message);
  invariant(instructions !== undefined, 'A planned message is well formed.');
  return {
    ...{ type: pipeline.type, payload: pipeline.payload },
    ...{ actions: [...pipeline.actions], proofHash: pipeline.proofHash },
    instructions: instructions.map((instruction) =>
      Buffer.from(
        compileLegacyMessage({ payer: vault, instructions: [instruction], blockhash: NO_BLOCKHASH }),
      ).toString('base64'),
    ),
  };
}

export const listBatches = operation('listBatches', {
  parse: (input) => soughtIn(parseInput(listBatchesQuerySchema, input)),
  perform: async ({ deps: { store }, principal: { project }, input: query }) => {
    const { limit = DEFAULT_PAGE_ITEMS, cursor, type, proofHash, action, toAddress, ...asked } = query;
    const holds = { type, proofHashes: proofHash?.split(','), action, toAddress };
    const [id] = cursor === undefined ? [] : readCursor(cursor, /^([\w-]{1,64})$/);
    const { items, last } = await store.read(async (tx) => {
      const before = id === undefined ? undefined : await tx.batches.ordinalOf(project.id, id);
      if (id !== undefined && before === undefined) throw badCursor();
      const page = await tx.batches.list({ ...asked, tokenId: project.id, limit, before, holds });
      return { items: page.items, last: page.next && (await tx.batches.find({ ordinal: page.next })) };
    });
    return done({
      items: items.map((batch) => listedBatchView(batch, project)),
      nextCursor: last ? cursorOf(last.id) : null,
    });
  },
});

export const batchPipelines = operation('batchPipelines', {
  parse: (input) => {
    const { batchId, ...query } = parseInput(batchPipelinesQuerySchema, input);
    return { batchId, ...soughtIn(query) };
  },
  perform: async ({ deps, principal, input }) => {
    const { limit = DEFAULT_PAGE_ITEMS, cursor } = input;
    const from = cursor === undefined ? 0 : Number(readCursor(cursor, /^(\d{1,15})$/)[0]);
    const { batch, found } = await deps.store.read(async (tx) => {
      const head = await findBatch(tx, principal, input.batchId);
      const rows = await tx.pipelines.list({ ...queryOf(head, input), from, limit: limit + 1 });
      return { batch: head, found: rows };
    });
    const permitted = principal.key.proofTypes;
    const items = found.slice(0, limit).map((row) => {
      const mayRead = permitted?.includes(row.type) ?? true;
      return { ...pipelineState(batch, row), ...(mayRead ? {} : { payload: '' }) };
    });
    const next = found[limit];
    const page = { items, nextCursor: next === undefined ? null : cursorOf(next.position) };
    return deps.store.read((tx) => withCost(tx, batch.id, page));
  },
});

function queryOf(batch: BatchHead, query: InputOf<'batchPipelines'>): Omit<PipelinesQuery, 'from' | 'limit'> {
  const { type, proofHash, action, toAddress, txHash, state } = query;
  const asked = { batchId: batch.id, type, proofHashes: proofHash?.split(','), action, toAddress, txHash };
  if (state === undefined) return asked;
  if (state === 'EXECUTED') return { ...asked, hasLanded: true };
  const failedAt = batch.executeResult?.failedOnTransactionIndex;
  const isPossible = isFinal(batch) ? state !== 'WAITING' : state === 'WAITING';
  if (!isPossible || (state === 'FAILED' && failedAt === undefined)) return { ...asked, at: -1 };
  return { ...asked, hasLanded: false, ...(state === 'FAILED' ? { at: failedAt } : { notAt: failedAt }) };
}

function pipelineState(batch: BatchHead, row: Omit<Row<'pipelines'>, 'batchId' | 'tokenId'>): PipelineState {
  const { position: index, type, payload, proofHash, signature, dateLanded: dateExecuted } = row;
  const common = { index, type, payload, actions: [...row.actions], proofHash };
  // Without a signature, a member executed the pipeline with another tool, and the chain does not tell the transaction.
  if (dateExecuted !== null)
    return { ...common, state: 'EXECUTED', dateExecuted, ...(signature !== null && { txHash: signature }) };
  const { executeResult } = batch;
  if (!isFinal(batch) || executeResult === null) return { ...common, state: 'WAITING' };
  const { failedOnTransactionIndex, failedTxMsg } = executeResult;
  if (index !== failedOnTransactionIndex) return { ...common, state: 'NOT_EXECUTED' };
  return { ...common, state: 'FAILED', ...(failedTxMsg === undefined ? {} : { message: failedTxMsg }) };
}
