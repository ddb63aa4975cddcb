/** `flywheel completion`: the completion script of a shell, to be sourced, and the names that it asks for. */
import { Argument, type Command, Option } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { SHELLS } from '../help/completion.js';
import type { Candidate } from '../help/completion-table.js';

const VALUES = ['profiles', 'batches', 'operations'] as const;

const configure = (command: Command) =>
  command
    .addArgument(new Argument('[shell]', 'the shell').choices(SHELLS))
    .addOption(
      new Option('--values <kind>', 'names to choose from, as the scripts ask for them').choices(VALUES),
    );

/** What there is of a kind in the files of this machine; nothing is opened for it but them. */
async function candidates(
  { settings }: Session,
  kind: (typeof VALUES)[number],
): Promise<readonly Candidate[]> {
  if (kind === 'profiles') {
    const { readProfiles } = await import('../config/profile-file.js');
    const { profiles } = readProfiles(settings.configDir.value);
    return Object.entries(profiles).map(([name, { apiUrl }]) => [name, apiUrl ?? 'the embedded engine']);
  }
  const directory = settings.apiUrl.value === null ? settings.dataDir.value : settings.configDir.value;
  const { pendingOperations, recentBatches } = await import('../journal/names.js');
  const named = await (kind === 'batches' ? recentBatches(directory) : pendingOperations(directory));
  return named.map(({ id, state, date }) => [id, `${state}, begun ${date}`]);
}

async function run(
  session: Session,
  [shell]: [(typeof SHELLS)[number] | undefined],
  { values }: OptionsOf<typeof configure>,
): Promise<undefined> {
  if (values !== undefined) {
    const { safeLine } = await import('../output/safe-text.js');
    for (const [word, description] of await candidates(session, values))
      session.output.text(`${safeLine(word)}\t${safeLine(description)}\n`);
    return undefined;
  }
  if (shell === undefined)
    throw new FlywheelError('ERR_USAGE', "Missing required argument 'shell'.", {
      hint: `One of ${SHELLS.join(', ')}.`,
    });
  const [{ completionScript }, { completionNodes }] = await Promise.all([
    import('../help/completion.js'),
    import('../help/completion-table.js'),
  ]);
  session.output.text(completionScript(shell, completionNodes(await session.cli.commands())));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Words, options, their values and descriptions stand in the script; names of profiles, batches and pending operations are read from files of this machine at each Tab.',
  ],
  output: ['a script on stdout'],
  errors: ['ERR_USAGE'],
  examples: [
    'source <(flywheel completion bash)',
    'flywheel completion zsh > ~/.zfunc/_flywheel',
    'flywheel completion fish > ~/.config/fish/completions/flywheel.fish',
  ],
});
