/**
 * Commands that take effect once, however often they are run: executing or cancelling a batch, and a vote, which its multisig
 * takes once. The journal keeps nothing of them; whoever does not know the outcome runs the command again.
 */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { asFlywheelError } from '../report-failure.js';
import { shellLine } from '../shell-line.js';

/** @throws `ERR_OUTCOME_UNKNOWN` with the command as the hint, where it stopped in the middle. */
export async function repeatable<Result>(session: Session, run: () => Promise<Result>): Promise<Result> {
  const hint = `Run the command again; that is safe: ${shellLine(['flywheel', ...session.commandLine])}`;
  try {
    return await run();
  } catch (thrown) {
    const error = asFlywheelError(thrown, session.context.signal);
    if (error.code === 'ERR_STORE_UNAVAILABLE')
      throw new FlywheelError('ERR_OUTCOME_UNKNOWN', `Unknown outcome: ${error.message}`, {
        ...{ hint, cause: error },
      });
    const isUnknown = error.code === 'ERR_OUTCOME_UNKNOWN' || error.code === 'ERR_TIMEOUT';
    throw isUnknown && error.options.hint === undefined ? error.with({ hint }) : error;
  }
}
