/** Shared helpers for tests of single commands: terminals, errors, and doubles of the local admin. */
import type { CliContext } from '../../../src/cli/context.js';
import type { LocalAdmin } from '../../../src/compose/local-admin.js';
import type { Reply } from '../../../src/contract/call.js';
import type { Batch } from '../../../src/contract/schemas/batch.js';
import type { ErrorCode } from '../../../src/errors/codes.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { only } from '../../support/doubles.js';
import type { TestCli, TestCliOptions } from '../../support/in-process.js';
import { type Problem, problemOf } from '../../support/spawn.js';
import { EXAMPLES } from '../../support/wire-examples.js';

export const READER: TestCliOptions = { tty: { stdout: true }, env: { NO_COLOR: '1' } };

/** A terminal that can be prompted; each question consumes one answer. */
export const person = (...answers: readonly string[]): TestCliOptions => ({
  tty: { stdin: true, stdout: true, stderr: true },
  env: { NO_COLOR: '1' },
  answers,
});

export const complaint = (stderr: string): Problem => problemOf({ stderr }) as Problem;

export async function refusal(
  cli: TestCli,
  ...words: readonly string[]
): Promise<readonly [exit: number, error: string, message: string]> {
  const { exit, stdout, stderr } = await cli.run(...words);
  if (stdout !== '') throw new TypeError(`What is refused prints nothing, this has: ${stdout}`);
  const { error, message } = complaint(stderr);
  return [exit, error, message];
}

export const refuse = (code: ErrorCode, message: string): never => {
  throw new FlywheelError(code, message);
};

export const reply = <Value>(value: Value): Reply<Value> => ({ value, meta: { replayed: false } });

export const aBatch = (parts: Partial<Batch> = {}): Batch => ({
  ...(EXAMPLES.getBatch.response as Batch),
  ...parts,
});

/** A local admin with only these methods, and the data directories it was opened for. */
export function localWith(parts: Partial<LocalAdmin>): Pick<CliContext, 'openLocal'> & {
  /** Data directories; each gets a `closed` entry when it is closed. */
  readonly opened: string[];
} {
  const opened: string[] = [];
  return {
    opened,
    openLocal: async ({ dataDir }) => {
      opened.push(dataDir.value);
      return only<LocalAdmin>({ close: async () => void opened.push('closed'), ...parts });
    },
  };
}
