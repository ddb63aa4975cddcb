/** The decimals of the mint, where they are known before a file is checked. */
import type { Pins } from '../approval/pins.js';
import type { Session } from './command.js';

/** Those that were pinned: a mint never changes them, so that no chain has to be asked. */
const decimalsOf = (pins: Pins | null): number | null => {
  const decimals = pins?.facts?.['mint.decimals'];
  return decimals === undefined ? null : Number(decimals);
};

/**
 * Decimals of the mint that the service burns, or `null` where nobody says. A dry run needs no service, so one that
 * cannot be opened is no error then.
 */
export async function knownDecimals(session: Session, dryRun: boolean): Promise<number | null> {
  try {
    return decimalsOf((await session.service()).pins);
  } catch (error) {
    if (!dryRun) throw error;
    return null;
  }
}
