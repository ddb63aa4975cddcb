/**
 * Notices that files of a data directory have been removed or replaced while a server works on them: what is written then
 * goes nowhere, and what memory says belongs to files that are no more.
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { watchFile } from '../files/read-file.js';
import type { FileName } from '../files/sqlite-errors.js';

/** How often is looked when nobody asks. */
const LOOK_INTERVAL_MS = 500;

export interface DataWatch {
  /** Looks now. @throws `ERR_STORE_UNAVAILABLE` once a file was lost, and ever after. */
  check(): void;
  /** Resolves with that error as soon as it is known; nobody need ask. */
  readonly lost: Promise<FlywheelError>;
  close(): void;
}

const lostFile = ({ noun, path }: FileName): FlywheelError =>
  new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `The ${noun} ${path} has been removed or replaced while it was in use; nothing more is written.`,
    {
      hint: 'Stop all flywheel processes before a data directory is wiped or restored, then start the server again.',
    },
  );

/** Watches files that are open. */
export function watchData(files: readonly FileName[]): DataWatch {
  const watched = files.map((file) => ({ file, isSame: watchFile(file.path) }));
  let error: FlywheelError | undefined;
  let tell: (error: FlywheelError) => void = () => undefined;
  const lost = new Promise<FlywheelError>((resolve) => {
    tell = resolve;
  });
  const look = (): void => {
    if (error !== undefined) return;
    const gone = watched.find(({ isSame }) => !isSame());
    if (gone === undefined) return;
    error = lostFile(gone.file);
    tell(error);
  };
  const timer = setInterval(() => {
    try {
      look();
    } catch {
      // The file system did not say; the callers get the error, and it is looked again.
    }
  }, LOOK_INTERVAL_MS).unref();
  return {
    check() {
      look();
      if (error !== undefined) throw error;
    },
    lost,
    close: () => clearInterval(timer),
  };
}
