/** `flywheel help`: a topic, or the help of a command. */
import { defineCommand } from '../command.js';

/** Widest help, in columns. */
const MAX_WIDTH = 100;

export const command = defineCommand({
  configure: (command) => command.argument('[words...]', 'settings, exit-codes, files, output, or a command'),
  run: async (session, [words]) => {
    const { topicText } = await import('../help/topics.js');
    const { columns, isTTY } = session.context.io.stdout;
    const topic = words.length === 1 ? topicText(words[0] ?? '', isTTY ? columns : null) : undefined;
    session.output.text(topic ?? (await session.cli.help(words, Math.min(columns, MAX_WIDTH))));
    return undefined;
  },
  uses: [],
  output: ['text'],
  examples: ['flywheel help exit-codes', 'flywheel help batch init'],
});
