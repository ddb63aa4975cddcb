/** Opens a service with a journal of its operations and with warnings on stderr. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Openers } from '../../compose/context.js';
import type { Settings } from '../../compose/settings.js';
import { JOURNAL_FILE } from '../../files/directories.js';
import { onFile } from '../../files/read-file.js';
import { randomIds } from '../../values/ids.js';
import type { CliContext, OpenedService } from '../context.js';
import { commandLine } from '../operation/resume-line.js';
import { plainStyle } from '../output/color.js';
import { warningLines } from '../output/output.js';
import { countText } from '../views/unit.js';
import type { Journal } from './journal.js';

export async function openWithJournal(
  { io, clock, self }: Pick<CliContext, 'io' | 'clock' | 'self'>,
  settings: Settings,
  open: Openers['openService'],
): Promise<OpenedService> {
  const warn = (text: string): void => {
    const lines = warningLines(text, settings.messages, plainStyle(io.stderr.columns), io.stderr);
    io.stderr.write(`${lines.join('\n')}\n`);
  };
  const service = await open(settings, warn);
  if (service.takenBack > 0)
    warn(
      `A fork of the chain rolled back ${countText(service.takenBack, 'confirmed transaction')}. Resume: \`${commandLine(settings, 'pending', 'resume')}\``,
    );
  let copy: string | undefined;
  /** By project: an operation that was taken before the service named its project goes on in its own. */
  const opened = new Map<string | null, Promise<Journal>>();
  const journal = async (): Promise<Journal> => {
    const { directory: kept, address, flywheel } = service.operations;
    const journal =
      opened.get(flywheel) ??
      import('./sqlite-journal.js').then(({ openSqliteJournal }) =>
        openSqliteJournal({
          directory: copy ?? kept,
          target: { address, flywheel },
          ...{ self, clock, ids: randomIds },
        }),
      );
    opened.set(flywheel, journal);
    return journal;
  };
  const closeJournals = async (): Promise<void> => {
    // A service that failed to open has nothing to close; its error has reached the command.
    for (const journal of opened.values()) (await journal.catch(() => undefined))?.close();
    opened.clear();
  };
  const close = service.close.bind(service);
  return Object.assign(service, {
    journal,
    copyJournal: async () => {
      const original = await journal();
      const place = onFile('ERR_STORE_UNAVAILABLE', `The journal cannot be copied to ${tmpdir()}`, () =>
        mkdtempSync(join(tmpdir(), 'flywheel-')),
      );
      copy = place;
      original.copyTo(join(place, JOURNAL_FILE));
      await closeJournals();
    },
    close: async () => {
      await closeJournals();
      if (copy !== undefined) rmSync(copy, { recursive: true });
      await close();
    },
  });
}
