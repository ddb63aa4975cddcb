/** `flywheel export`: everything that the store holds, in one state, into a file. */
import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type Session } from '../command.js';
import { viewExported } from '../views/moves.js';

const configure = (command: Command) =>
  command.argument('<file>', 'where to write it, compressed if its name ends in .gz; - for standard output');

async function run(session: Session, [file]: [string]): Promise<undefined> {
  const path = file === '-' ? file : resolve(session.context.cwd, file);
  const exported = await (await session.local()).exportStore(path);
  // The export itself stands on standard output then.
  if (exported.file === null) session.output.tell(viewExported(exported).join('\n'));
  else session.output.result(exported, () => viewExported(exported));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'One state of the store, read while servers and commands go on: a backup, and the way from a data directory on a cluster into a database and back (`flywheel import`). What its configuration says travels along, except for nodes, signing programs and how transactions are sent.',
    'The file (0600, never over another) holds proofs of pending batches, signed transactions and the hashes of API keys; private keys are not in it. Keep it like a database.',
    'The last line has the number of rows and the SHA-256 of each table and of all: equal stores give equal files.',
  ],
  uses: ['service', 'chain'],
  output: ['{ "file": path|null, "rows", "tables": [ { "name", "rows", "sha256" } ], "sha256" }'],
  examples: ['flywheel export backup.ndjson.gz', 'flywheel export - | gzip > backup.ndjson.gz'],
});
