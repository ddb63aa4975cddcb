/** The outside world of the command line: streams, environment, time, and functions that open a service. Tests pass their own. */
import type { Ambient, Openers } from '../compose/context.js';
import type { LocalAdmin } from '../compose/local-admin.js';
import type { OpenedService as ComposedService } from '../compose/service.js';
import type { Settings } from '../compose/settings.js';
import type { Journal } from './journal/journal.js';

/** What a method of the administration returns. */
export type Answer<Name extends keyof LocalAdmin> = Awaited<ReturnType<LocalAdmin[Name]>>;

type Foresight = NonNullable<ComposedService['foresight']>;
export type BurnsForesight = Awaited<ReturnType<Foresight['burns']>>;

/** Reason of EPIPE. That is no failure: a reader such as `head` stops early. */
export const READER_GONE = 'the reader closed the pipe';

/** Ignores writes once `closed` is true. */
export interface OutputStream {
  write(text: string): void;
  /** Waits until all text has left this process. @returns `null`, or why some text was lost */
  flush(): Promise<string | null>;
  readonly isTTY: boolean;
  readonly columns: number;
  /** A write has failed, usually because the reader closed the pipe. */
  readonly closed: boolean;
}

export interface InputStream {
  readonly isTTY: boolean;
  chunks(): AsyncIterable<Uint8Array>;
}

export interface Io {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Asks on stderr and reads a line from stdin. @returns `null` at the end of input or after a signal */
  prompt(question: string): Promise<string | null>;
}

export interface OpenedService extends ComposedService {
  /** Opened at the first call, closed with the service. */
  journal(): Promise<Journal>;
  /** For dry runs: from now on {@link journal} is a private copy, deleted at the end. */
  copyJournal(): Promise<void>;
}

export interface CliContext extends Omit<Ambient, 'io'>, Omit<Openers, 'openService'> {
  readonly io: Io;
  readonly home: string;
  readonly platform: string;
  readonly nodeVersion: string;
  /** Unique among all processes, past and present. */
  readonly self: string;
  openService(settings: Settings): Promise<OpenedService>;
}
