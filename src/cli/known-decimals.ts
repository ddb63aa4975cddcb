/** The decimals of the mint, where they are known before a file is checked. */
import type { Session } from './command.js';

/**
 * Decimals of the mint that the service burns, or `null` where nobody says. A dry run needs no service, so one that
 * cannot be opened is no error then.
 */
export async function knownDecimals(session: Session, dryRun: boolean): Promise<number | null> {
  try {
    return (await session.service()).trusted?.decimals ?? null;
  } catch (error) {
    if (!dryRun) throw error;
    return null;
  }
}
