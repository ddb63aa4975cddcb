/** `flywheel import`: fills an empty database, or an empty data directory, with an export. */
import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type Session } from '../command.js';
import { viewImported } from '../views/moves.js';

const configure = (command: Command) =>
  command.argument('<file>', 'what `flywheel export` wrote, packed or not; - for standard input');

async function run(session: Session, [file]: [string]): Promise<undefined> {
  const path = file === '-' ? file : resolve(session.context.cwd, file);
  const imported = await (await session.local()).importStore(path);
  session.output.result(imported, () => viewImported(imported));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Into the database of the settings, or else into the data directory, which has room for one project and needs nodes (--rpc-url). Nothing may be registered there. It is one transaction: all of it is read back from where it was written and held to the digests of the file, or nothing is written. The same file once more changes nothing.',
    'Stop whatever works on the other store first, and for good: two stores of one flywheel do not know of each other. Bring the keys of operator and burn wallet (or the programs that sign) and an API key yourself.',
    'A copy that is older than the chain writes nothing before `flywheel db accept-gap`.',
  ],
  uses: ['service', 'chain'],
  output: [
    '{ "projects", "rows", "tables": [ { "name", "rows", "sha256" } ], "sha256", "wasThere": boolean }',
  ],
  examples: [
    'FLYWHEEL_DATABASE_URL_FILE=/run/secrets/database flywheel import backup.ndjson.gz',
    'flywheel import backup.ndjson.gz --data-dir ./restored --rpc-url https://rpc.example.com',
  ],
});
