/** `flywheel keys revoke`: the key is refused from now on, or from a later time on. */
import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { commandLine } from '../../operation/resume-line.js';
import { durationOption } from '../../options/durations.js';
import { keyName } from '../../views/local.js';

const configure = (command: Command) =>
  command
    .argument('<id>', 'id of the key, from `flywheel keys list`')
    .option('--after <time>', 'keep the key valid for 30min, 24h, 7d (default: 0)');

async function run(
  session: Session,
  [id]: [string],
  { after }: OptionsOf<typeof configure>,
): Promise<undefined> {
  const afterMs = durationOption('--after', after, 0);
  const key = await (await session.local()).revokeKey(id, afterMs);
  const end = key.dateRevoked === null ? `from ${key.dateExpires} on` : 'from now on';
  if (key.isInUse)
    session.output.warn(
      `This is the key that commands on this machine use. They are refused ${end}. Make another with \`${commandLine(session.settings, 'keys', 'create')}\`, then set FLYWHEEL_API_KEY to it.`,
    );
  session.output.result(key, (style) => [
    style.good(
      key.dateRevoked === null
        ? `${keyName(key)} is valid until ${key.dateExpires}.`
        : `Revoked ${keyName(key)} (${key.dateRevoked}).`,
    ),
  ]);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'To replace a key, create another with the same scopes (`flywheel keys create`), hand it out, and revoke the old one with --after. Idempotency keys belong to the project: the new key resumes and repeats requests that the old key started.',
    'Commands on this machine use the file api-key in the data directory, unless FLYWHEEL_API_KEY is set.',
  ],
  output: [
    '{ "id", "name", "isInUse", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires" }',
  ],
  examples: [
    'flywheel keys revoke 0193c1a4-5f1e-4c55-9c07-7d2e2f6c8a10',
    'flywheel keys revoke 0193c1a4-5f1e-4c55-9c07-7d2e2f6c8a10 --after 24h',
  ],
});
