/** Shapes of files for the command line: the API's shapes with additions. */
import * as z from 'zod';
import { ACTION_SCHEMAS } from '../../actions/registry.js';
import { addressSchema, amountSchema } from '../../values/schemas.js';
import { MAX_PIPELINES } from '../limits.js';
import { batchSchema, pipelineSchema } from './batch.js';
import { proofSchema, writtenBurnSchema } from './burn.js';

/** A number, or text where a double cannot represent the decimal exactly. */
const writtenAmountSchema = z.union([
  amountSchema,
  z
    .string()
    .regex(/^(?=[0-9.]*[1-9])[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?$/)
    .meta({ description: 'The same as decimal text.', examples: ['0.25'] }),
]);

const schemaKey = {
  $schema: z.string().optional().meta({ description: 'Address of this schema; ignored.' }),
};

/** A burns file in JSON: an array, so it has no `$schema`. `items` is the shape of an NDJSON line. */
const burnsFileSchema = z
  .array(writtenBurnSchema.extend({ burnAmount: writtenAmountSchema }))
  .min(1)
  .meta({ title: 'A burns file of flywheel' });

const writtenActionSchemas = ACTION_SCHEMAS.map((schema) =>
  'amount' in schema.shape ? z.strictObject({ ...schema.shape, amount: writtenAmountSchema }) : schema,
);

const writtenPipelinesSchema = z
  .array(
    pipelineSchema.extend({
      payload: z
        .union([z.string(), proofSchema])
        .meta({ description: 'The proof, as JSON text or as an object.' }),
      actions: z.array(z.union(writtenActionSchemas)).min(1),
    }),
  )
  .min(1)
  .max(MAX_PIPELINES);

const pipelinesFileSchema = z
  .union([z.strictObject({ ...schemaKey, pipelines: writtenPipelinesSchema }), writtenPipelinesSchema])
  .meta({ title: 'A pipelines file of flywheel' });

const approvalFileSchema = z
  .looseObject({
    ...schemaKey,
    proposalApproveTx: z.string().regex(/^[A-Za-z0-9+/]+={0,2}$/),
    batch: z.looseObject({
      id: batchSchema.shape.id,
      multisig: addressSchema,
      batchIndex: z.string().regex(/^[0-9]{1,20}$/),
    }),
  })
  .meta({ title: 'An approval file of flywheel, as `batch init --out` writes it' });

export const FILE_SCHEMAS = {
  burns: burnsFileSchema,
  pipelines: pipelinesFileSchema,
  approval: approvalFileSchema,
} as const;
