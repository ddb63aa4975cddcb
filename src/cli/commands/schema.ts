/** `flywheel schema`: the JSON Schema of a file that the command line takes. */
import { Argument } from '@commander-js/extra-typings';
import { defineCommand } from '../command.js';

const KINDS = ['burns', 'pipelines', 'approval'] as const;

export const command = defineCommand({
  configure: (command) => command.addArgument(new Argument('<file>', 'which file').choices(KINDS)),
  run: async ({ output }, [kind]) => {
    const { fileSchema } = await import('../../contract/file-schemas.js');
    const schema = fileSchema(kind);
    output.result(schema, () => JSON.stringify(schema, null, 2).split('\n'));
    return undefined;
  },
  details: [
    'JSON Schema 2020-12, for editors and for programs that write such files.',
    'A pipelines file may name it in "$schema"; a burns file is an array and cannot. CSV has no schema.',
    'Addresses, decimals and JSON inside text are checked when the file is read, not by the schema.',
  ],
  uses: [],
  output: ['{ "$schema": "https://json-schema.org/draft/2020-12/schema", "title", … }'],
  examples: ['flywheel schema pipelines > pipelines.schema.json'],
});
