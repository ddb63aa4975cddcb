/** `flywheel profile use`: the profile for commands that name none. */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { parseProfileName } from '../../options/names.js';

const configure = (command: Command) =>
  command
    .argument('[name]', 'name of the profile')
    .option('--none', 'use no profile: commands use the embedded engine again');

async function run(
  { settings, output }: Session,
  [given]: [string | undefined],
  { none }: OptionsOf<typeof configure>,
): Promise<undefined> {
  if ((given === undefined) === (none === undefined))
    throw new FlywheelError('ERR_USAGE', 'Name a profile, or add --none.');
  const current = given === undefined ? null : parseProfileName(given);
  const { useProfile } = await import('../../config/profile-store.js');
  await useProfile(settings.configDir.value, current);
  output.result({ current }, (style) => [
    style.good(current === null ? 'No profile is in use.' : `The current profile is ${current}.`),
  ]);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  uses: ['service'],
  output: ['{ "current": name|null }'],
  examples: ['flywheel profile use staging', 'flywheel profile use --none'],
});
