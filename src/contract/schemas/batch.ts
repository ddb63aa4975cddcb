/** Wire shapes of the batch operations (service specification, section 2.5; contract, section 1.2). */

import * as z from 'zod';
import { ACTION_NAMES, ACTION_SCHEMAS } from '../../actions/registry.js';
import * as scalar from '../../values/schemas.js';
import { MAX_PIPELINES } from '../limits.js';
import {
  askedKeySchema,
  batchIdSchema,
  count,
  MAY_BE_SHORT,
  pageOf,
  pageQuery,
  text,
  timeBounds,
} from './page.js';

const PROOF_TEXT = '{"orderId":"A-1001","total":49.9}';

export const batchStatusSchema = z.enum(['AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED']).meta({
  id: 'BatchStatus',
  description:
    'AVAILABLE_TO_QUEUE: being set up; FINALIZED: waits for approval and execution; EXECUTED, FAILED: over.',
  examples: ['FINALIZED'],
});
export type BatchStatus = z.infer<typeof batchStatusSchema>;

export const bundleExecutionSchema = z
  .object({
    bundleId: text(
      'SHA-256 (hex) over the comma-joined base58 signatures of the bundle.',
      'b7f943845357ffafd382804e7addbb1b54731b404ff26afec243f4a74fde4256',
    ),
    txHashes: z
      .array(scalar.txHashSchema)
      .meta({ description: 'Transactions of the bundle, in the order they landed.' }),
  })
  .meta({ id: 'BundleExecution' });

const executionSums = {
  total: count('Number of transactions.'),
  totalSuccessful: count('Transactions that landed.'),
  totalFailed: count('Transactions that failed or were not tried.', 0),
  successfulExecutions: z
    .array(bundleExecutionSchema)
    .meta({ description: 'The bundles that landed, in order.' }),
};
const failedTxMsgSchema = text('Reason of the failure, if any.').optional();

export const initResultSchema = z
  .object({
    ...executionSums,
    failedTxMsg: failedTxMsgSchema,
    batchIndex: count('Number of the batch in its multisig.'),
  })
  .meta({ id: 'InitResult' });
export type InitResult = z.infer<typeof initResultSchema>;

export const executeResultSchema = z
  .object({
    ...executionSums,
    failedOnTransactionIndex: count('The pipeline that failed, counted from 0.').optional(),
    failedStartTransactionIndex: count(
      'First pipeline of the bundle that failed, counted from 0.',
    ).optional(),
    failedTxMsg: failedTxMsgSchema,
  })
  .meta({ id: 'ExecuteResult' });
export type ExecuteResult = z.infer<typeof executeResultSchema>;

export const batchSchema = z
  .object({
    id: scalar.uuidSchema,
    flywheelId: text('UUID of the project.', '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11'),
    tokenId: text('UUID of the token.', '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11'),
    mintAddress: text('Mint of the token, base58.', 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF'),
    status: batchStatusSchema,
    batchIndex: text('Number of the batch in its multisig, as digits.', '1'),
    vaultIndex: text('Index of the vault, as digits.', '0'),
    multisig: text('Address of the multisig, base58.', 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF'),
    vaultAddress: text(
      'Address of the vault that pays, base58.',
      'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF',
    ),
    initResult: initResultSchema.optional(),
    executeResult: executeResultSchema.optional(),
    dateCreated: scalar.dateTimeSchema,
    dateUpdated: scalar.dateTimeSchema,
    dateCancelled: scalar.dateTimeSchema
      .optional()
      .meta({ description: 'Time of the cancellation (not in the specification).' }),
  })
  .meta({ id: 'Batch' });
export type Batch = z.infer<typeof batchSchema>;

export const listedBatchSchema = batchSchema
  .extend({
    totals: z
      .object({
        pipelines: count('Number of pipelines.'),
        burn: text('Tokens to burn, as decimal text.', '10'),
        airdrop: text('Tokens to airdrop, as decimal text.', '2.5'),
        recipients: count('Number of different recipients.'),
      })
      .meta({ id: 'BatchTotals', description: 'Totals of its pipelines, executed or not.' }),
  })
  .meta({ id: 'ListedBatch' });
export type ListedBatch = z.infer<typeof listedBatchSchema>;

export const getBatchRequestSchema = z.object({ batchId: batchIdSchema });

/** `null` when the token has no current batch; this is a normal answer. */
export const currentBatchSchema = batchSchema.nullable();

/** Known names without an implementation; the engine answers `ERR_ACTION_NOT_SUPPORTED`. */
const unavailableActionSchema = z.looseObject({ action: z.enum(['BUYBACK', 'LOCK', 'UNLOCK']) });

export const actionSchema = z
  .discriminatedUnion(
    'action',
    [...ACTION_SCHEMAS, unavailableActionSchema],
    `unknown action; expected ${ACTION_NAMES.slice(0, -1).join(', ')} or ${ACTION_NAMES.at(-1)}`,
  )
  .meta({ id: 'Action' });
export type Action = z.infer<typeof actionSchema>;

export const ACTION_FIELDS: readonly string[] = [
  ...new Set(ACTION_SCHEMAS.flatMap(({ shape }) => Object.keys(shape))),
];

export const pipelineSchema = z
  .strictObject({
    type: scalar.proofTypeSchema,
    payload: z
      .string('expected a JSON object as text')
      .meta({ description: 'The proof as JSON text (an object).', examples: [PROOF_TEXT] }),
    actions: z
      .array(actionSchema, 'expected a list of actions')
      .min(1, 'expected at least one action')
      .meta({ description: 'Actions, in this order, all or nothing.' }),
  })
  .meta({ id: 'Pipeline' });
export type Pipeline = z.infer<typeof pipelineSchema>;

export const initBatchRequestSchema = z
  .strictObject({
    pipelines: z.array(pipelineSchema).min(1, 'expected at least one pipeline').meta({
      description: 'Executed in this order, each in its own transaction.',
      maxItems: MAX_PIPELINES,
    }),
  })
  .meta({ id: 'InitBatchRequest' });
export type InitBatchRequest = z.infer<typeof initBatchRequestSchema>;

const proofTypeField = text('Proof type.', 'PRODUCT_BUY');
const payloadField = text('The proof as it was sent.', PROOF_TEXT);
const actionsField = z.array(actionSchema).meta({ description: 'Actions, in this order.' });

export const compiledPipelineSchema = z
  .object({
    type: proofTypeField,
    payload: payloadField,
    actions: actionsField,
    proofHash: scalar.hashSchema,
    instructions: z.array(z.string()).meta({
      description:
        'One-instruction messages (payer = vault), base64, as `Message.from` of web3.js decodes them.',
      examples: [['AQABAgME']],
    }),
  })
  .meta({ id: 'CompiledPipeline' });

export const initBatchResultSchema = z
  .object({
    proposalApproveTx: scalar.base64Schema.meta({
      description:
        "Wire-format versioned transaction. The operator has signed and pays the fee; the owner's signature is missing.",
    }),
    batch: batchSchema
      .extend({ pipelines: z.array(compiledPipelineSchema) })
      .meta({ description: 'The batch, with the instructions of each pipeline.' }),
  })
  .meta({ id: 'InitBatchResult' });
export type InitBatchResult = z.infer<typeof initBatchResultSchema>;

export const executeBatchRequestSchema = z
  .strictObject({
    batchId: scalar.uuidSchema,
    signedTx: scalar.base64Schema.optional().meta({
      description:
        'The signed approval. Not needed if the owner has approved on chain (contract, section 1.7).',
    }),
  })
  .meta({
    id: 'ExecuteBatchRequest',
    examples: [{ batchId: '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11', signedTx: 'AgAAAAAAAAAA' }],
  });

export const executeBatchResultSchema = z
  .object({ batchId: scalar.uuidSchema, result: executeResultSchema })
  .meta({ id: 'ExecuteBatchResult' });

const pipelineFilters = {
  type: scalar.proofTypeSchema.optional().meta({ description: 'With this proof type.' }),
  proofHash: scalar.hashesSchema.optional(),
  action: z
    .enum(ACTION_NAMES, `unknown action; expected ${ACTION_NAMES.join(', ')}`)
    .optional()
    .meta({ description: 'With an action of this name.' }),
  toAddress: scalar.addressSchema.optional().meta({ description: 'With an airdrop to this address.' }),
};

/** Newest first. With several pipeline filters, each may match a different pipeline of the batch. */
export const listBatchesQuerySchema = z.strictObject({
  ...pipelineFilters,
  status: batchStatusSchema.optional(),
  txHash: scalar.txHashSchema.optional().meta({ description: 'With the transaction of this signature.' }),
  idempotencyKey: askedKeySchema,
  ...timeBounds('Created'),
  ...pageQuery,
});

export const batchPageSchema = pageOf('BatchPage', listedBatchSchema, 'Batches, newest first.', MAY_BE_SHORT);

export const PIPELINE_STATES = ['WAITING', 'EXECUTED', 'FAILED', 'NOT_EXECUTED'] as const;

export const pipelineStateSchema = z
  .object({
    index: count('Position in the batch, counted from 0.', 0),
    type: proofTypeField,
    payload: text('The proof as it was sent. Empty if the key is limited to other proof types.', PROOF_TEXT),
    actions: actionsField,
    proofHash: scalar.hashSchema,
    state: z.enum(PIPELINE_STATES).meta({
      description:
        'FAILED: this pipeline failed. NOT_EXECUTED: the batch stopped before this pipeline, or was cancelled.',
    }),
    txHash: scalar.txHashSchema.optional(),
    dateExecuted: scalar.dateTimeSchema.optional(),
    message: text('Reason of the failure.').optional(),
  })
  .meta({ id: 'PipelineState' });
export type PipelineState = z.infer<typeof pipelineStateSchema>;

export const batchPipelinesQuerySchema = z.strictObject({
  batchId: batchIdSchema,
  ...pipelineFilters,
  state: z.enum(PIPELINE_STATES).optional(),
  txHash: scalar.txHashSchema
    .optional()
    .meta({ description: 'Executed by the transaction with this signature.' }),
  ...pageQuery,
});

export const pipelinePageSchema = pageOf('PipelinePage', pipelineStateSchema, 'Pipelines, in their order.');

export const issueApprovalRequestSchema = z.strictObject({ batchId: batchIdSchema });

export const cancelBatchRequestSchema = z.strictObject({
  batchId: batchIdSchema,
  signedTx: scalar.base64Schema
    .optional()
    .meta({ description: 'The `cancelTx` of an earlier answer, signed by the owner.' }),
});

export const cancelBatchResultSchema = z
  .object({
    ownerVoteNeeded: z
      .boolean()
      .meta({ description: 'True if the owner must sign `cancelTx` first.', examples: [false] }),
    cancelTx: scalar.base64Schema.optional().meta({
      description:
        "With `ownerVoteNeeded`: a transaction that the operator has signed and pays for; the owner's signature is missing.",
    }),
    batch: batchSchema.optional(),
  })
  .meta({ id: 'CancelBatchResult' });
