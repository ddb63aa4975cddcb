/**
 * What the command line is given from outside: streams, environment, time, and the ways to open a service.
 *
 * Everything is a value, so that a test can hand in buffers and a fixed clock; the real one is put together in `compose`.
 */
import type { Ambient, Openers } from '../compose/context.js';
import type { OpenedService as ComposedService } from '../compose/service.js';
import type { Settings } from '../compose/settings.js';
import type { Journal, Processes } from './journal/journal.js';

export type { LocalAdmin } from '../compose/local-admin.js';
export type { RunningServer, ServeOptions } from '../compose/server.js';
export type {
  GapReport,
  LocalInitInput,
  LocalInitResult,
  LocalStatusResult,
  LocalVaultResult,
} from '../contract/local-admin.js';

/** Why a stream cannot be written whose reader left, which may be all that it wanted. */
export const READER_GONE = 'the reader closed the pipe';

/** A stream to write to; writing to one that its reader has closed does nothing. */
export interface OutputStream {
  write(text: string): void;
  /** Resolves when all that was written has left this process: to `null`, or to the reason why some of it could not. */
  flush(): Promise<string | null>;
  readonly isTTY: boolean;
  readonly columns: number;
  /** The reader has gone away (a closed pipe). */
  readonly closed: boolean;
}

/** Standard input. */
export interface InputStream {
  readonly isTTY: boolean;
  /** All bytes until the end. @throws `ERR_INPUT_INVALID` beyond `maxBytes`. */
  read(maxBytes: number): Promise<Uint8Array>;
  /** The same bytes as they come. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** The three streams, and the questions one can ask. */
export interface Io {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Hears of every question before it is asked. */
  beforeQuestion(hear: () => void): void;
  /** Asks on standard error, reads a line from standard input; `null` at its end. */
  prompt(question: string): Promise<string | null>;
}

/** A service, and the journal of its operations. */
export interface OpenedService extends ComposedService {
  /** Opened at the first call, closed with the service. */
  journal(): Promise<Journal>;
  /** From now on {@link journal} is a copy, private to this process and dropped with it. */
  copyJournal(): Promise<void>;
}

/** Everything the command line knows of the outside world. */
export interface CliContext extends Omit<Ambient, 'io'>, Omit<Openers, 'openService'> {
  readonly io: Io;
  readonly home: string;
  readonly platform: string;
  /** Of node, such as `v22.1.0`. */
  readonly nodeVersion: string;
  /** This process and the others. */
  readonly processes: Processes;
  openService(settings: Settings): Promise<OpenedService>;
}
