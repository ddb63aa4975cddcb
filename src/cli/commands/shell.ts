/** Commands about the command line itself: help, completion, and the JSON Schemas of input files. */
import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { usageError } from '../../errors/flywheel-error.js';
import { defineCommand, type Session } from '../command.js';
import { readProfiles } from '../config/profile-file.js';
import { safeLine } from '../output/safe-text.js';
import type { CommandTree } from '../program.js';
import { type Candidate, completionScript, completions, SHELLS } from '../shell-completion.js';

/** Reads only a file of this machine. */
const profilesOf = ({ settings }: Session): readonly Candidate[] =>
  Object.entries(readProfiles(settings.configDir.value).profiles).map(([name, { apiUrl }]) => [
    safeLine(name),
    safeLine(apiUrl ?? 'the embedded engine'),
  ]);

/** Of a command, or of all if there are no words. @throws `ERR_USAGE` for an unknown command */
async function showHelp({ root, load }: CommandTree, words: readonly string[], topics: readonly string[]) {
  let command: CommandUnknownOpts = root;
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    // What follows are its arguments.
    if (next === undefined && command !== root && command.commands.length === 0) break;
    if (next === undefined) {
      const visible = command.createHelp().visibleCommands(command);
      throw usageError(
        `No help for ${JSON.stringify(words.join(' '))}.`,
        `Commands: ${visible.map((each) => each.name()).join(', ')}. Topics: ${topics.join(', ')}.`,
      );
    }
    await load(next);
    command = next;
  }
  command.outputHelp();
}

export const commands = {
  help: defineCommand({
    configure: (command) =>
      command.argument('[words...]', 'settings, exit-codes, files, output, or a command'),
    run: async ({ context, output, tree }, [words]) => {
      const { TOPICS, topicText } = await import('../help-topics.js');
      const { columns, isTTY } = context.io.stdout;
      const topic = words.length === 1 ? topicText(words[0] ?? '', isTTY ? columns : null) : undefined;
      if (topic === undefined) await showHelp(tree, words, Object.keys(TOPICS));
      else output.text(topic);
    },
    output: ['text'],
    examples: ['flywheel help exit-codes', 'flywheel help batch init'],
  }),
  completion: defineCommand({
    configure: (command) => command.addArgument(new Argument('<shell>', 'the shell').choices(SHELLS)),
    run: async ({ output }, [shell]) => output.text(completionScript(shell)),
    output: ['a script'],
    examples: [
      'source <(flywheel completion bash)',
      'flywheel completion zsh > ~/.zfunc/_flywheel',
      'flywheel completion fish > ~/.config/fish/completions/flywheel.fish',
    ],
  }),
  __complete: defineCommand({
    configure: (command) => command.argument('[words...]'),
    run: async (session, [words]) => {
      for (const line of await completions(session.tree, words, () => profilesOf(session)))
        session.output.text(`${line}\n`);
    },
    output: ['one word with its description per line'],
    examples: [],
  }),
  schema: defineCommand({
    configure: (command) =>
      command.addArgument(
        new Argument('<file>', 'which file').choices(['burns', 'pipelines', 'approval'] as const),
      ),
    run: async (_session, [kind]) => (await import('../../contract/openapi.js')).fileSchema(kind),
    view: (schema) => JSON.stringify(schema, null, 2).split('\n'),
    details: [
      'JSON Schema 2020-12, for editors and for programs that write these files.',
      'A pipelines file may name the schema in "$schema". A burns file, an array, cannot. CSV has no schema.',
      'Addresses, decimals and JSON inside text are checked when the file is read, not by the schema.',
    ],
    output: ['{ "$schema": "https://json-schema.org/draft/2020-12/schema", "title", … }'],
    examples: ['flywheel schema pipelines > pipelines.schema.json'],
  }),
};
