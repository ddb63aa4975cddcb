/** `flywheel completion`: the completion script of a shell, to be sourced. */
import { Argument } from '@commander-js/extra-typings';
import { defineCommand } from '../command.js';
import { completionScript, SHELLS } from '../help/completion.js';

export const command = defineCommand({
  configure: (command) => command.addArgument(new Argument('<shell>', 'the shell').choices(SHELLS)),
  run: async ({ output }, [shell]) => {
    output.text(completionScript(shell));
    return undefined;
  },
  uses: [],
  output: ['a script'],
  examples: [
    'source <(flywheel completion bash)',
    'flywheel completion zsh > ~/.zfunc/_flywheel',
    'flywheel completion fish > ~/.config/fish/completions/flywheel.fish',
  ],
});
