/** `flywheel profile set`: changes settings of a profile that is there, all of them or none. */
import { defineCommand, type Session } from '../../command.js';
import { parseProfileName } from '../../options/names.js';
import { viewProfile } from '../../views/profile.js';

async function run(session: Session, [given, texts]: [string, string[]]): Promise<undefined> {
  const { context, settings, output } = session;
  const name = parseProfileName(given);
  const [{ parseChange, withChanges }, { changeProfile }, { checkProfile }, { profileViews }] =
    await Promise.all([
      import('../../config/profile-keys.js'),
      import('../../config/profile-store.js'),
      import('../../config/resolve.js'),
      import('../../config/profile-views.js'),
    ]);
  const changes = texts.map((text) => parseChange(text, context.cwd));
  await changeProfile(settings.configDir.value, name, (before) => {
    const after = withChanges(before, changes);
    checkProfile(context, after);
    return after;
  });
  const saved = profileViews(session).find((view) => view.name === name);
  if (saved !== undefined) output.result(saved, (style) => viewProfile(saved, style));
  return undefined;
}

export const command = defineCommand({
  configure: (command) =>
    command
      .argument('<name>', 'name of the profile')
      .argument('<settings...>', 'what changes, as name=value; an empty value takes the setting away'),
  run,
  details: [
    'Settings are apiUrl, apiKeyHeader, dataDir, databaseUrl, databaseUrlFile, project, keypair, operatorSigner, burnSigner, commitment, rpcUrl (several between commas), rpcQuorum and maxPriorityFee.',
    'What no command could use is refused, and nothing is changed; an address with a password in it has no place on the command line. Keys, pins and limits have commands of their own.',
  ],
  output: ['the profile, as `profile show` prints it'],
  errors: ['ERR_INPUT_INVALID', 'ERR_CONFIG_INVALID'],
  examples: [
    'flywheel profile set staging apiUrl=https://api.example.com',
    'flywheel profile set staging rpcUrl=devnet rpcQuorum=',
  ],
});
