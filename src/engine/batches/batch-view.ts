/** Batch records as the API shows them (service specification, section 2.5). */

import { decodeVaultMessage, vaultMessageInstructions } from '../../chain/squads/message.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type { Batch, CompiledPipeline, InitBatchResult, ListedBatch } from '../../contract/schemas/batch.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, IssuedVote, PlannedPipeline } from '../../store/records.js';
import type { Address } from '../../values/address.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { Uuid } from '../../values/uuid.js';
import { inTurns } from '../pause.js';
import type { BatchOwner } from './batch-context.js';

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
