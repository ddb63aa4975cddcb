/** `flywheel version`: the same as `flywheel --version`. */
import { defineCommand } from '../command.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async ({ context, output }) => {
    output.text(`${context.version}\n`);
    return undefined;
  },
  uses: [],
  output: ['the version'],
  examples: ['flywheel version'],
});
