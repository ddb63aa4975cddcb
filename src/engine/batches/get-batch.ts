/** Reading a batch: by its id, or the current one of the key's token, as the API shows it (service specification, sections 2.5, 4.3 and 4.4). */

import { decodeVaultMessage, vaultMessageInstructions } from '../../chain/squads/message.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type { Reply } from '../../contract/call.js';
import {
  type Batch,
  type CompiledPipeline,
  getBatchRequestSchema,
  type InitBatchResult,
  type ListedBatch,
} from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, IssuedVote, PlannedPipeline } from '../../store/records.js';
import type { Address } from '../../values/address.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import { isUuid, type Uuid } from '../../values/uuid.js';
import { type Principal, requireToken } from '../authenticate.js';
import type { EngineDeps } from '../deps.js';
import { operation } from '../operation.js';
import { inTurns } from '../pause.js';
import { type BatchOwner, ownerOf } from './batch-context.js';

/**
 * The batch with this id, if it belongs to the key's token.
 * @throws `ERR_BATCH_NOT_FOUND`
 */
export async function findBatch(deps: EngineDeps, principal: Principal, batchId: string): Promise<BatchHead> {
  const token = requireToken(principal);
  const id = batchId.toLowerCase();
  const batch = isUuid(id) ? await deps.store.read((tx) => tx.batches.head(id)) : undefined;
  if (batch === undefined || batch.tokenId !== token.id) {
    throw new FlywheelError('ERR_BATCH_NOT_FOUND', `No batch ${batchId.slice(0, 64)}.`);
  }
  return batch;
}

const reply = (principal: Principal, batch: BatchHead): Reply<Batch> => ({
  value: batchView(batch, ownerOf(principal)),
  meta: { replayed: false, cost: batch.cost },
});

export const getBatch = operation('getBatch', {
  parse: (input) => parseInput(getBatchRequestSchema, input),
  perform: async ({ deps, principal, input }) =>
    reply(principal, await findBatch(deps, principal, input.batchId)),
});

export const currentBatch = operation('currentBatch', {
  parse: (_input, { principal }) => requireToken(principal),
  perform: async ({ deps, principal, input: token }) => {
    try {
      const batch = await deps.store.read((tx) => tx.batches.current(token.id));
      return batch === undefined ? { value: null, meta: { replayed: false } } : reply(principal, batch);
    } catch (cause) {
      throw new FlywheelError('ERR_BATCH_CURRENT_FAILED', 'The current batch could not be read.', { cause });
    }
  },
});

/** 32 zero bytes: the messages are for reading, not for sending. */
const NO_BLOCKHASH = '11111111111111111111111111111111';

export function batchView(record: BatchHead, { token, flywheel }: BatchOwner): Batch {
  return {
    id: record.id as Uuid,
    flywheelId: record.flywheelId,
    tokenId: record.tokenId,
    mintAddress: token.mintAddress,
    status: record.status,
    batchIndex: record.batchIndex.toString(),
    vaultIndex: flywheel.vaultIndex.toString(),
    multisig: flywheel.multisig,
    vaultAddress: flywheel.vault,
    ...(record.initResult === null ? {} : { initResult: record.initResult }),
    ...(record.executeResult === null ? {} : { executeResult: record.executeResult }),
    dateCreated: record.dateCreated,
    dateUpdated: record.dateUpdated,
    ...(record.dateCancelled === null ? {} : { dateCancelled: record.dateCancelled }),
  };
}

export const listedBatchView = (record: BatchHead, owner: BatchOwner): ListedBatch => ({
  ...batchView(record, owner),
  totals: {
    pipelines: record.pipelineCount,
    burn: formatTokenAmount(record.burn, owner.token.decimals),
    airdrop: formatTokenAmount(record.airdrop, owner.token.decimals),
    recipients: record.recipients,
  },
});

/** The answer of init: the batch with its compiled pipelines, and the approval to sign. */
export async function initBatchView(
  record: BatchRecord,
  owner: BatchOwner,
  vote: IssuedVote,
): Promise<InitBatchResult> {
  const pipelines = [...(await inTurns(compiledPipelines(record.pipelines, owner.flywheel.vault)))];
  const proposalApproveTx = Buffer.from(vote.transaction).toString('base64');
  return { proposalApproveTx, batch: { ...batchView(record, owner), pipelines } };
}

function* compiledPipelines(
  pipelines: readonly PlannedPipeline[],
  vault: Address,
): Generator<CompiledPipeline, void> {
  for (const pipeline of pipelines) yield compiledPipeline(pipeline, vault);
}

function compiledPipeline(pipeline: PlannedPipeline, vault: Address): CompiledPipeline {
  const message = decodeVaultMessage(Buffer.from(pipeline.message, 'base64'));
  const instructions = message === undefined ? undefined : vaultMessageInstructions(message);
  invariant(instructions !== undefined, 'A planned message is well formed.');
  return {
    type: pipeline.type,
    payload: pipeline.payload,
    actions: [...pipeline.actions],
    proofHash: pipeline.proofHash,
    instructions: instructions.map((instruction) =>
      Buffer.from(
        compileLegacyMessage({ payer: vault, instructions: [instruction], blockhash: NO_BLOCKHASH }),
      ).toString('base64'),
    ),
  };
}
