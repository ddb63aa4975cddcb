/** `flywheel completion`: the completion script of a shell, to be sourced. */

import { Argument } from '@commander-js/extra-typings';
import { defineCommand } from '../command.js';
import { SHELLS } from '../help/completion-scripts.js';

export const command = defineCommand({
  configure: (command) => command.addArgument(new Argument('<shell>', 'the shell').choices(SHELLS)),
  run: async (session, [shell]) => {
    const [{ completionScript }, { completionNodes }] = await Promise.all([
      import('../help/completion-scripts.js'),
      import('../help/command-tree.js'),
    ]);
    session.output.text(completionScript(shell, completionNodes(await session.cli.commands())));
    return undefined;
  },
  output: ['a script on stdout'],
  errors: ['ERR_USAGE'],
  examples: [
    'source <(flywheel completion bash)',
    'flywheel completion zsh > ~/.zfunc/_flywheel',
    'flywheel completion fish > ~/.config/fish/completions/flywheel.fish',
  ],
});
