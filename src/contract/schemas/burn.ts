/** Wire shapes of the two burn operations (service specification, sections 2.1 to 2.3). */
import * as z from 'zod';
import type { JsonObject } from '../../values/canonical-json.js';
import { amountSchema, dateTimeSchema, hashSchema, proofTypeSchema, txHashSchema } from './scalars.js';

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Any JSON object; kept as it is, key by key, so that its hash is the client's. */
export const proofSchema = z.custom<JsonObject>(isJsonObject, 'expected a JSON object').meta({
  description: 'Proof data; its structure corresponds to `type`.',
  type: 'object',
  examples: [{ orderId: 'A-1001' }],
});

export const burnRequestSchema = z
  .strictObject({
    type: proofTypeSchema,
    proof: proofSchema,
    burnAmount: amountSchema,
    persistOnchain: z
      .boolean('expected true or false')
      .meta({ description: 'true records the proof hash on the blockchain.' }),
  })
  .meta({ id: 'BurnRequest' });
export type BurnRequest = z.infer<typeof burnRequestSchema>;

/** Elements that one burn-batch may hold, unless configured (contract, section 1.6). */
export const MAX_BURN_BATCH_ELEMENTS = 1_000;

export const burnBatchRequestSchema = z
  .array(burnRequestSchema, 'expected an array of burns')
  .min(1, 'expected at least one burn')
  .meta({ id: 'BurnBatchRequest' });
export type BurnBatchRequest = z.infer<typeof burnBatchRequestSchema>;

export const burnResultSchema = z
  .object({
    result: z.string().meta({ description: '`SUCCESS` on success.', examples: ['SUCCESS'] }),
    hash: hashSchema,
    txHash: txHashSchema,
    type: proofTypeSchema,
    dateBurned: dateTimeSchema,
  })
  .meta({ id: 'BurnResult' });
export type BurnResult = z.infer<typeof burnResultSchema>;

export const burnErrorSchema = z
  .object({
    message: z.string(),
    type: z.string().meta({ description: 'Error code of this failure.', examples: ['ERR_INVALID_PROOF'] }),
    proof: proofSchema,
    proofType: z.string(),
  })
  .meta({ id: 'BurnError' });
export type BurnError = z.infer<typeof burnErrorSchema>;

export const burnBatchResultSchema = z
  .object({ success: z.array(burnResultSchema), errors: z.array(burnErrorSchema) })
  .meta({ id: 'BurnBatchResult' });
export type BurnBatchResult = z.infer<typeof burnBatchResultSchema>;
