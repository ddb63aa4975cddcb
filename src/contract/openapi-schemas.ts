/** JSON Schemas of the contract's shapes, completed where zod's checks are functions. */

import * as z from 'zod';
import { addressSchema, base64Schema, uuidSchema } from '../values/schemas.js';
import { MAX_BURN_BATCH_ELEMENTS, MAX_PIPELINES } from './limits.js';
import { initBatchRequestSchema } from './schemas/batch.js';
import { burnBatchRequestSchema, burnErrorSchema, proofSchema } from './schemas/burn.js';
import { FILE_SCHEMAS } from './schemas/files.js';

export type Json = Readonly<Record<string, unknown>>;

/** 1,232 bytes, the maximum of a transaction, in base64. */
const MAX_TRANSACTION_BASE64_LENGTH = 1_644;

const STATED = new Map<z.core.$ZodType, Json>([
  [proofSchema, { additionalProperties: true }],
  // An invalid proof is returned as sent, so it can have any type.
  [burnErrorSchema.shape.proof, { type: undefined }],
  [burnBatchRequestSchema, { maxItems: MAX_BURN_BATCH_ELEMENTS }],
  [initBatchRequestSchema.shape.pipelines, { maxItems: MAX_PIPELINES }],
  [uuidSchema, { maxLength: 36 }],
  [addressSchema, { minLength: 32, maxLength: 44 }],
  [base64Schema, { maxLength: MAX_TRANSACTION_BASE64_LENGTH }],
]);

/** JSON Schema cannot express the function that checks a proof; its metadata says `object`. */
const GENERATION = {
  io: 'input',
  unrepresentable: 'any',
  override: ({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: object }): void =>
    void Object.assign(jsonSchema, STATED.get(zodSchema)),
} as const;

export function jsonSchemaOf(shape: z.ZodType): { readonly schema: Json; readonly definitions: Json } {
  const { $schema: _, $defs, ...schema } = z.toJSONSchema(shape, GENERATION) as Record<string, unknown>;
  return { schema, definitions: ($defs ?? {}) as Json };
}

export function referTo(shape: z.ZodType, components: Record<string, unknown>): unknown {
  const { schema, definitions } = jsonSchemaOf(shape);
  const relocated = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'));
  for (const [name, definition] of Object.entries(definitions)) components[name] = relocated(definition);
  return relocated(schema);
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

export function fileSchema(kind: keyof typeof FILE_SCHEMAS): Json {
  const { schema, definitions } = jsonSchemaOf(FILE_SCHEMAS[kind]);
  const hasDefinitions = Object.keys(definitions).length > 0;
  return { $schema: DIALECT, ...schema, ...(hasDefinitions ? { $defs: definitions } : {}) };
}
