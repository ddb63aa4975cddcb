/** Wire shapes of the flywheel batch operations (service specification, section 2.5; contract, section 1.2). */
import * as z from 'zod';
import {
  addressSchema,
  amountSchema,
  base64Schema,
  dateTimeSchema,
  hashSchema,
  proofTypeSchema,
  txHashSchema,
  uuidSchema,
} from './scalars.js';

export const batchStatusSchema = z
  .enum(['AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED'])
  .meta({ id: 'BatchStatus' });
export type BatchStatus = z.infer<typeof batchStatusSchema>;

export const bundleExecutionSchema = z
  .object({
    bundleId: z
      .string()
      .meta({ description: 'SHA-256 (hex) over the comma-joined base58 signatures of the bundle.' }),
    txHashes: z.array(txHashSchema),
  })
  .meta({ id: 'BundleExecution' });
export type BundleExecution = z.infer<typeof bundleExecutionSchema>;

export const initResultSchema = z
  .object({
    total: z.number().int(),
    totalSuccessful: z.number().int(),
    totalFailed: z.number().int(),
    successfulExecutions: z.array(bundleExecutionSchema),
    failedTxMsg: z.string().optional(),
    batchIndex: z.number().int(),
  })
  .meta({ id: 'InitResult' });
export type InitResult = z.infer<typeof initResultSchema>;

export const executeResultSchema = z
  .object({
    total: z.number().int(),
    totalSuccessful: z.number().int(),
    totalFailed: z.number().int(),
    successfulExecutions: z.array(bundleExecutionSchema),
    failedOnTransactionIndex: z.number().int().optional(),
    failedStartTransactionIndex: z.number().int().optional(),
    failedTxMsg: z.string().optional(),
  })
  .meta({ id: 'ExecuteResult' });
export type ExecuteResult = z.infer<typeof executeResultSchema>;

export const batchSchema = z
  .object({
    id: uuidSchema,
    flywheelId: z.string(),
    tokenId: z.string(),
    mintAddress: z.string(),
    status: batchStatusSchema,
    batchIndex: z.string(),
    vaultIndex: z.string(),
    multisig: z.string(),
    vaultAddress: z.string(),
    initResult: initResultSchema.optional(),
    executeResult: executeResultSchema.optional(),
    dateCreated: dateTimeSchema,
    dateUpdated: dateTimeSchema,
  })
  .meta({ id: 'Batch' });
export type Batch = z.infer<typeof batchSchema>;

/** `null` when the token has no current batch; a normal answer. */
export const currentBatchSchema = batchSchema.nullable();

const burnActionSchema = z.strictObject({ action: z.literal('BURN'), amount: amountSchema });
const airdropActionSchema = z.strictObject({
  action: z.literal('AIRDROP'),
  toAddress: addressSchema,
  amount: amountSchema,
});
const memoActionSchema = z.strictObject({
  action: z.literal('MEMO'),
  message: z.string().min(1, 'expected a message'),
});

/** Names that are known and not available; the engine answers them with `ERR_ACTION_NOT_SUPPORTED`. */
const unavailableActionSchema = z.looseObject({ action: z.enum(['BUYBACK', 'LOCK', 'UNLOCK']) });

export const actionSchema = z
  .discriminatedUnion(
    'action',
    [burnActionSchema, airdropActionSchema, memoActionSchema, unavailableActionSchema],
    'unknown action; expected BURN, AIRDROP or MEMO',
  )
  .meta({ id: 'Action' });
export type Action = z.infer<typeof actionSchema>;
export type SupportedAction = Extract<Action, { action: 'BURN' | 'AIRDROP' | 'MEMO' }>;

export const pipelineSchema = z
  .strictObject({
    type: proofTypeSchema,
    payload: z
      .string()
      .min(2, 'expected a JSON object as text')
      .meta({ description: 'The proof as JSON text (an object).' }),
    actions: z.array(actionSchema).min(1, 'expected at least one action'),
  })
  .meta({ id: 'Pipeline' });
export type Pipeline = z.infer<typeof pipelineSchema>;

/** Pipelines that one batch may hold, unless configured (contract, section 1.6). */
export const MAX_PIPELINES = 1_000;

export const initBatchRequestSchema = z
  .strictObject({ pipelines: z.array(pipelineSchema).min(1, 'expected at least one pipeline') })
  .meta({ id: 'InitBatchRequest' });
export type InitBatchRequest = z.infer<typeof initBatchRequestSchema>;

export const compiledPipelineSchema = z
  .object({
    type: z.string(),
    payload: z.string(),
    actions: z.array(actionSchema),
    proofHash: hashSchema,
    instructions: z.array(z.string()).meta({
      description:
        'One-instruction messages (payer = vault), base64, as `Message.from` of web3.js decodes them.',
    }),
  })
  .meta({ id: 'CompiledPipeline' });
export type CompiledPipeline = z.infer<typeof compiledPipelineSchema>;

export const initBatchResultSchema = z
  .object({
    proposalApproveTx: base64Schema.meta({
      description:
        "Wire-format versioned transaction, signed by the operator who pays the fee; the owner's signature is missing.",
    }),
    batch: batchSchema.extend({ pipelines: z.array(compiledPipelineSchema) }),
  })
  .meta({ id: 'InitBatchResult' });
export type InitBatchResult = z.infer<typeof initBatchResultSchema>;

export const executeBatchRequestSchema = z
  .strictObject({ batchId: uuidSchema, signedTx: base64Schema })
  .meta({ id: 'ExecuteBatchRequest' });
export type ExecuteBatchRequest = z.infer<typeof executeBatchRequestSchema>;

export const executeBatchResultSchema = z
  .object({ batchId: uuidSchema, result: executeResultSchema })
  .meta({ id: 'ExecuteBatchResult' });
export type ExecuteBatchResult = z.infer<typeof executeBatchResultSchema>;
