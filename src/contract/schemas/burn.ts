/** Wire shapes of the burn operations (service specification, sections 2.1 to 2.3). */
import * as z from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { InexactNumber } from '../../values/exact-number.js';
import * as scalar from '../../values/schemas.js';
import { MAX_BURN_BATCH_ELEMENTS } from '../limits.js';
import { askedKeySchema, MAY_BE_SHORT, pageOf, pageQuery, text, timeBounds } from './page.js';

/** Any JSON object. Its keys and their order are unchanged, so that its hash equals the client's. */
export const proofSchema = z.custom<JsonObject>(isJsonObject, 'expected a JSON object').meta({
  ...{ description: 'The proof. Its structure depends on `type`.', type: 'object' },
  additionalProperties: true,
  examples: [{ orderId: 'A-1001', total: 49.9 }],
});

/** Checks ranges of values too; ignores unknown properties. */
export const burnRequestSchema = z
  .object({
    type: scalar.proofTypeSchema,
    proof: proofSchema,
    burnAmount: scalar.amountSchema,
    persistOnchain: z
      .boolean('expected true or false')
      .meta({ description: 'true records the proof hash on the blockchain.' }),
  })
  .meta({ id: 'BurnRequest' });
export type BurnRequest = z.infer<typeof burnRequestSchema>;

/** For files written by hand: an unknown key is probably a typo and is refused. */
export const writtenBurnSchema = burnRequestSchema.strict();

const anyJsonSchema = z.custom<JsonValue>((value) => value !== undefined, 'expected a JSON object');

/**
 * Checks only fields and JSON types. Values are checked per element, so that a burn-batch succeeds as a whole (service
 * specification, sections 4.2 and 7).
 */
export const burnShapeSchema = z.object({
  type: z.string('expected text'),
  proof: anyJsonSchema,
  burnAmount: z.custom<number | InexactNumber>(
    (value) => typeof value === 'number' || value instanceof InexactNumber,
    'expected a number',
  ),
  persistOnchain: z.boolean('expected true or false'),
});
export const burnShapesSchema = z.array(burnShapeSchema);
export type BurnShape = z.infer<typeof burnShapeSchema>;

export const burnBatchRequestSchema = z
  .array(burnRequestSchema, 'expected an array of burns')
  .meta({ id: 'BurnBatchRequest', maxItems: MAX_BURN_BATCH_ELEMENTS });

export const burnResultSchema = z
  .object({
    result: text('`SUCCESS` on success.', 'SUCCESS'),
    hash: scalar.hashSchema,
    txHash: scalar.txHashSchema,
    type: scalar.proofTypeSchema,
    dateBurned: scalar.dateTimeSchema,
  })
  .meta({ id: 'BurnResult' });
export type BurnResult = z.infer<typeof burnResultSchema>;

export const burnErrorSchema = z
  .object({
    message: text('Reason of the failure.', 'The proof type "UNKNOWN" is unknown.'),
    type: text('Error code of this failure.', 'ERR_INVALID_PROOF'),
    proof: anyJsonSchema.meta({
      description: 'The proof as it was sent.',
      examples: [{ orderId: 'A-1001', total: 49.9 }],
    }),
    proofType: text('The `type` as it was sent.', 'UNKNOWN'),
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

const statusSchema = z.enum(['PENDING', 'SUCCESS', 'FAILED']);

export const listBurnsQuerySchema = z.strictObject({
  type: z.string().min(1).max(64).optional().meta({ description: 'Proof type.' }),
  status: statusSchema.optional(),
  proofHash: scalar.hashesSchema.optional(),
  idempotencyKey: askedKeySchema,
  txHash: scalar.txHashSchema.optional(),
  ...timeBounds('Requested'),
  ...pageQuery,
});

export const burnStateSchema = z
  .object({
    hash: scalar.hashSchema,
    txHash: scalar.txHashSchema,
    type: scalar.proofTypeSchema,
    amount: text('Tokens, exact, as decimal text.', '12.5'),
    persistOnchain: z.boolean().meta({ description: 'True if the proof hash is recorded on chain.' }),
    status: statusSchema.meta({
      description: 'PENDING: the outcome is not known yet, and the burn may still land.',
      examples: ['SUCCESS'],
    }),
    dateCreated: scalar.dateTimeSchema,
    dateBurned: scalar.dateTimeSchema.optional(),
    feeLamports: text('Fee of its transaction in lamports, as digits.').optional(),
    error: z
      .object({ type: z.string(), message: z.string() })
      .optional()
      .meta({ description: 'Reason of the failure.' }),
  })
  .meta({ id: 'BurnState' });
export type BurnState = z.infer<typeof burnStateSchema>;

export const burnPageSchema = pageOf('BurnPage', burnStateSchema, 'Burns, newest first.', MAY_BE_SHORT);
