/** `flywheel profile get`: one setting of a profile, for scripts; secrets only where they are asked for. */
import type { Command } from '@commander-js/extra-typings';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { type Profile, readProfileKey } from '../../config/profile-file.js';
import { profileViews } from '../../config/profile-views.js';
import { parseProfileName } from '../../options/names.js';
import { safeLine } from '../../output/safe-text.js';

const configure = (command: Command) =>
  command
    .argument('<name>', 'name of the profile')
    .argument('<setting>', 'name of the setting, such as apiUrl; apiKey with --reveal')
    .option('--reveal', 'print the API key, and addresses with the keys in them');

async function run(
  session: Session,
  [given, setting]: [string, string],
  { reveal }: OptionsOf<typeof configure>,
): Promise<undefined> {
  const { settings, context, output } = session;
  const directory = settings.configDir.value;
  const name = parseProfileName(given);
  const { requireProfile } = await import('../../config/profile-store.js');
  const stored: Profile = requireProfile(directory, name).profiles[name] ?? {};
  const shown = reveal === true ? stored : profileViews(session).find((view) => view.name === name);
  const key = setting === 'apiKey' ? readProfileKey(directory, name, context.platform) : null;
  const value = key === null ? Reflect.get(shown ?? {}, setting) : reveal === true ? key.reveal() : '***';
  if (value === undefined || !(Object.hasOwn(stored, setting) || key !== null))
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `The profile ${name} sets no ${safeLine(setting.slice(0, 60))}.`,
      {
        hint: `\`flywheel profile show ${name}\` shows what it sets.`,
      },
    );
  output.result(value, () =>
    [value].flat().map((each) => (typeof each === 'object' ? JSON.stringify(each) : safeLine(String(each)))),
  );
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  output: ['the value, as JSON or a line'],
  errors: ['ERR_CONFIG_INVALID'],
  examples: [
    'flywheel profile get staging apiUrl --output human',
    'flywheel profile get staging apiKey --reveal',
  ],
});
