/** `flywheel keys rotate`: a new key with the same rights, while the old one stays valid for a time. */
import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { durationOption } from '../../options/durations.js';
import { viewRotatedKey } from '../../views/local.js';

const DEFAULT_GRACE_MS = 86_400_000;

const configure = (command: Command) =>
  command
    .argument('<id>', 'id of the key, as `flywheel keys list` shows it')
    .option('--grace <time>', 'for how long the old key stays valid: 30min, 7d, 0 (default: 24h)')
    .option('--out <file>', 'where the new key is written (default: a file in the data directory)');

async function run(
  session: Session,
  [id]: [string],
  { grace, out }: OptionsOf<typeof configure>,
): Promise<undefined> {
  const graceMs = durationOption('--grace', grace, DEFAULT_GRACE_MS);
  const outFile = out === undefined ? null : resolve(session.context.cwd, out);
  const key = await (await session.local()).rotateKey({ id, graceMs, outFile });
  session.output.result(key, (style) => viewRotatedKey(key, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'The new key lies in its file (0600) before the old one is given its end. Where the answer was lost run the same command again: it takes the key from that file and makes no third.',
    'An idempotency key is of the project: a request that was begun with the old key is carried on, or answered again, with the new one.',
  ],
  output: [
    '{ "id", "key", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires", "rotatedFrom", "validUntil", "file": path, "isOwn" }',
    'validUntil: the end of the old key; isOwn: it was that of the commands on this machine, which use the new one from now on',
  ],
  examples: [
    'flywheel keys rotate 0193c1a4-5f1e-4c55-9c07-7d2e2f6c8a10',
    'flywheel keys rotate 0193c1a4-5f1e-4c55-9c07-7d2e2f6c8a10 --grace 7d --out shop.key',
  ],
});
