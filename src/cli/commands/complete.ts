/** `flywheel __complete`: what may follow the words, as the completion scripts ask for it. */
import { defineCommand, type Session } from '../command.js';
import type { Candidate, Names } from '../help/complete.js';

/** What there is of a kind in the files of this machine; nothing is opened for it but them. */
async function names({ settings }: Session, kind: Names): Promise<readonly Candidate[]> {
  const { safeLine } = await import('../output/safe-text.js');
  if (kind === 'profiles') {
    const { readProfiles } = await import('../config/profile-file.js');
    const { profiles } = readProfiles(settings.configDir.value);
    return Object.entries(profiles).map(([name, { apiUrl }]) => [
      safeLine(name),
      safeLine(apiUrl ?? 'the embedded engine'),
    ]);
  }
  const directory = settings.apiUrl.value === null ? settings.dataDir.value : settings.configDir.value;
  const { pendingOperations, recentBatches } = await import('../journal/names.js');
  const named = await (kind === 'batches' ? recentBatches(directory) : pendingOperations(directory));
  return named.map(({ id, state, date }) => [safeLine(id), safeLine(`${state}, started ${date}`)]);
}

export const command = defineCommand({
  configure: (command) => command.argument('[words...]'),
  run: async (session, [words]) => {
    for (const line of await session.cli.complete(words, (kind) => names(session, kind)))
      session.output.text(`${line}\n`);
    return undefined;
  },
  output: ['one word with its description per line'],
  examples: [],
});
