/** `flywheel completion`: the completion script of a shell, to be sourced. */

import type { CommandSpec } from '../command.js';
import { SHELLS } from '../help/completion-scripts.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '<shell>', description: 'the shell', choices: SHELLS }],
  output: ['a script on stdout'],
  errors: ['ERR_USAGE'],
  examples: [
    'source <(flywheel completion bash)',
    'flywheel completion zsh > ~/.zfunc/_flywheel',
    'flywheel completion fish > ~/.config/fish/completions/flywheel.fish',
  ],
  run: async (session, invocation) => {
    const [{ completionScript }, { commandTree }] = await Promise.all([
      import('../help/completion-scripts.js'),
      import('../help/command-tree.js'),
    ]);
    const shell = SHELLS.find((name) => name === invocation.argument(0)) ?? 'bash';
    session.output.text(completionScript(shell, await commandTree(session.cli.catalogue)));
    return undefined;
  },
};
