/** JSON Schemas (2020-12) of the files that people write, for editors and programs that check them. */
import { type Json, jsonSchemaOf } from './openapi-schemas.js';
import { FILE_SCHEMAS } from './schemas/files.js';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** The schema of a file, whole in itself. */
export function fileSchema(kind: keyof typeof FILE_SCHEMAS): Json {
  const { schema, definitions } = jsonSchemaOf(FILE_SCHEMAS[kind]);
  const hasDefinitions = Object.keys(definitions).length > 0;
  return { $schema: DIALECT, ...schema, ...(hasDefinitions ? { $defs: definitions } : {}) };
}
