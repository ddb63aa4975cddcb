/** The service calls `burn` and `burn-batch` deprecated: people at a terminal are told so, scripts are not. */
import type { Session } from '../command.js';

export const DEPRECATED = 'Deprecated, and for v1 tokens only. Use `flywheel batch run` for new work.';

export function tellDeprecated({ context, output, commandLine }: Session): void {
  if (context.io.stderr.isTTY)
    output.tell(`\`flywheel ${commandLine[0]}\` is deprecated. Use \`flywheel batch run\` for new work.`);
}
