/** `flywheel help`: a topic, or the help of a command. */
import type { CommandSpec } from '../command.js';

/** Widest help, in columns. */
const MAX_WIDTH = 100;

export const command: CommandSpec = {
  arguments: [
    { syntax: '[words...]', description: 'environment, exit-codes, files, or the words of a command' },
  ],
  output: ['text'],
  errors: ['ERR_USAGE'],
  examples: ['flywheel help exit-codes', 'flywheel help batch init'],
  run: async (session, invocation) => {
    const words = invocation.words(0);
    const { topicText } = await import('../help/topics.js');
    const topic = words.length === 1 ? topicText(words[0] ?? '') : undefined;
    if (topic !== undefined) session.output.text(topic);
    else {
      const width = Math.min(session.context.io.stdout.columns, MAX_WIDTH);
      session.output.text(await session.cli.help(words, width));
    }
    return undefined;
  },
};
