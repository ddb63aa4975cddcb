/** Wire shapes of the two burn operations (service specification, sections 2.1 to 2.3). */
import * as z from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { InexactNumber } from '../../values/exact-number.js';
import {
  amountSchema,
  dateTimeSchema,
  hashesSchema,
  hashSchema,
  proofTypeSchema,
  txHashSchema,
} from '../../values/schemas.js';
import { askedKeySchema, cursorSchema, nextCursorSchema, pageLimitSchema, timeBoundSchema } from './page.js';

/** Any JSON object; kept as it is, key by key, so that its hash is the client's. */
export const proofSchema = z.custom<JsonObject>(isJsonObject, 'expected a JSON object').meta({
  description: 'The proof. Its structure depends on `type`.',
  type: 'object',
  examples: [{ orderId: 'A-1001' }],
});

/** A burn whose values are in range too; other properties are ignored. */
export const burnRequestSchema = z
  .object({
    type: proofTypeSchema,
    proof: proofSchema,
    burnAmount: amountSchema,
    persistOnchain: z
      .boolean('expected true or false')
      .meta({ description: 'true records the proof hash on the blockchain.' }),
  })
  .meta({ id: 'BurnRequest' });
export type BurnRequest = z.infer<typeof burnRequestSchema>;

/** The same from a person's hand: another key is most likely a slip, and is refused. */
export const writtenBurnSchema = burnRequestSchema.strict();

/**
 * The structure alone of a burn: fields and their JSON types. Values are judged element by element, in answer to which a
 * burn-batch as a whole succeeds (service specification, sections 4.2 and 7).
 */
export const burnShapeSchema = z.object({
  type: z.string('expected text'),
  proof: z.custom<JsonValue>((value) => value !== undefined, 'expected a JSON object'),
  burnAmount: z.custom<number | InexactNumber>(
    (value) => typeof value === 'number' || value instanceof InexactNumber,
    'expected a number',
  ),
  persistOnchain: z.boolean('expected true or false'),
});
export const burnShapesSchema = z.array(burnShapeSchema);
export type BurnShape = z.infer<typeof burnShapeSchema>;

/** Elements that one burn-batch may hold, unless configured (contract, section 1.6). */
export const MAX_BURN_BATCH_ELEMENTS = 1_000;

export const burnBatchRequestSchema = z
  .array(burnRequestSchema, 'expected an array of burns')
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
    message: z.string().meta({ description: 'Reason of the failure.' }),
    type: z.string().meta({ description: 'Error code of this failure.', examples: ['ERR_INVALID_PROOF'] }),
    proof: z
      .custom<JsonValue>((value) => value !== undefined, 'expected a JSON object')
      .meta({ description: 'The proof as it was sent.', type: 'object' }),
    proofType: z.string().meta({ description: 'The `type` as it was sent.' }),
  })
  .meta({ id: 'BurnError' });
export type BurnError = z.infer<typeof burnErrorSchema>;

export const burnBatchResultSchema = z
  .object({
    success: z
      .array(burnResultSchema)
      .meta({ description: 'Burns that succeeded, in the order of the request.' }),
    errors: z.array(burnErrorSchema).meta({ description: 'Burns that failed, in the order of the request.' }),
  })
  .meta({ id: 'BurnBatchResult' });
export type BurnBatchResult = z.infer<typeof burnBatchResultSchema>;

/** Which burns to list, newest first. */
export const listBurnsQuerySchema = z.strictObject({
  type: z.string().min(1).max(64).optional().meta({ description: 'Proof type.' }),
  status: z.enum(['PENDING', 'SUCCESS', 'FAILED']).optional(),
  proofHash: hashesSchema.optional(),
  idempotencyKey: askedKeySchema,
  txHash: txHashSchema.optional(),
  since: timeBoundSchema.meta({ description: 'Requested at this time or later.' }),
  until: timeBoundSchema.meta({ description: 'Requested before this time.' }),
  limit: pageLimitSchema,
  cursor: cursorSchema,
});
export type ListBurnsQuery = z.infer<typeof listBurnsQuerySchema>;

/** A burn as the service keeps it. */
export const burnStateSchema = z
  .object({
    hash: hashSchema,
    txHash: txHashSchema,
    type: proofTypeSchema,
    amount: z.string().meta({ description: 'Tokens, exact, as decimal text.', examples: ['12.5'] }),
    persistOnchain: z.boolean().meta({ description: 'True if the proof hash is recorded on chain.' }),
    status: z.enum(['PENDING', 'SUCCESS', 'FAILED']).meta({
      description: 'PENDING: the outcome is not known yet; it may still burn.',
    }),
    dateCreated: dateTimeSchema,
    dateBurned: dateTimeSchema.optional(),
    feeLamports: z
      .string()
      .optional()
      .meta({ description: 'Fee of its transaction in lamports, as digits.' }),
    error: z
      .object({ type: z.string(), message: z.string() })
      .optional()
      .meta({ description: 'Reason of the failure.' }),
  })
  .meta({ id: 'BurnState' });
export type BurnState = z.infer<typeof burnStateSchema>;

export const burnPageSchema = z
  .object({
    items: z.array(burnStateSchema).meta({ description: 'Burns, newest first.' }),
    nextCursor: nextCursorSchema,
  })
  .meta({
    id: 'BurnPage',
    description: 'A page may have fewer items than its limit, even none, and still have a next page.',
  });
export type BurnPage = z.infer<typeof burnPageSchema>;
