/** `flywheel help`: a topic, or the help of a command. */
import { defineCommand } from '../command.js';

/** Widest help, in columns. */
const MAX_WIDTH = 100;

export const command = defineCommand({
  configure: (command) =>
    command.argument('[words...]', 'environment, exit-codes, files, or the words of a command'),
  run: async (session, [words]) => {
    const { topicText } = await import('../help/topics.js');
    const topic = words.length === 1 ? topicText(words[0] ?? '') : undefined;
    if (topic !== undefined) session.output.text(topic);
    else {
      const width = Math.min(session.context.io.stdout.columns, MAX_WIDTH);
      session.output.text(await session.cli.help(words, width));
    }
    return undefined;
  },
  output: ['text'],
  errors: ['ERR_USAGE'],
  examples: ['flywheel help exit-codes', 'flywheel help batch init'],
});
