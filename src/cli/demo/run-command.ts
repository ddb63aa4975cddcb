/** Runs a command of the demo just as it would run from a shell, and gives back what it printed. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import type { CliContext, OutputStream } from '../context.js';
import { safeText } from '../output/safe-text.js';
import { shellLine } from '../shell-line.js';

/** Columns of the streams that the commands see. */
const COLUMNS = 100;

function buffer(): OutputStream & { readonly text: () => string } {
  const parts: string[] = [];
  return {
    write: (text) => {
      parts.push(text);
    },
    flush: async () => null,
    isTTY: false,
    columns: COLUMNS,
    closed: false,
    text: () => parts.join(''),
  };
}

/** The environment without what would lead the demo's commands elsewhere. */
const neutral = (env: CliContext['env']): CliContext['env'] =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('FLYWHEEL_') || name === 'FLYWHEEL_DEBUG'),
  );

/**
 * Runs words and reads the JSON that they print.
 * @throws `ERR_INTERNAL` with what the command said when it does not exit with 0.
 */
export async function runCommand<Value>(
  { context, cli }: Pick<Session, 'context' | 'cli'>,
  words: readonly string[],
): Promise<Value> {
  const stdout = buffer();
  const stderr = buffer();
  const io = { ...context.io, stdout, stderr };
  const exit = await cli.run({ ...context, io, env: neutral(context.env) }, words);
  if (exit === 0) return JSON.parse(stdout.text()) as Value;
  throw new FlywheelError(
    'ERR_INTERNAL',
    `${shellLine(['flywheel', ...words])} ended with exit code ${exit}: ${safeText(stderr.text()).trim()}`,
    { exit },
  );
}
