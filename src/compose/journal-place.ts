/** Where a service's journal lies, and when it is opened. */
import type { Pins } from '../approval/pins.js';
import type { Ambient } from '../cli/context.js';
import type { Journal, Target } from '../cli/journal/journal.js';
import { randomIds } from '../values/ids.js';

/** A journal that is opened when it is first asked for. */
export interface JournalPlace {
  journal(): Promise<Journal>;
  close(): Promise<void>;
}

/** A flywheel as the journal names it. */
export const flywheelText = (pins: Pick<Pins, 'multisig' | 'mint'> | null): string | null =>
  pins === null ? null : `${pins.multisig} ${pins.mint}`;

/** @param directory - made when missing, for the user alone. */
export function journalPlace(
  { clock, processes }: Pick<Ambient, 'clock' | 'processes'>,
  directory: string,
  target: Target,
): JournalPlace {
  let opened: Promise<Journal> | undefined;
  return {
    journal: () => {
      opened ??= import('../cli/journal/sqlite-journal.js').then(({ openSqliteJournal }) =>
        openSqliteJournal({ directory, target, processes, clock, ids: randomIds }),
      );
      return opened;
    },
    close: async () => {
      // One that failed to open has nothing to close; its error went to the command already.
      (await opened?.catch(() => undefined))?.close();
    },
  };
}
