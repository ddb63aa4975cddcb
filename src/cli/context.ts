/**
 * What the command line is given from outside: streams, environment, time, and the ways to open a service.
 *
 * Everything is a value, so that a test can hand in buffers and a fixed clock; the real one is put together in `compose`.
 */

import type { Pins } from '../approval/pins.js';
import type { ChainReader, ChainSender, History } from '../chain/chain.js';
import type { Flywheel } from '../chain/flywheel.js';
import type { NodeReport } from '../chain/node-report.js';
import type { Simulator } from '../chain/simulator.js';
import type { DataChain } from '../contract/admin.js';
import type { Foresight } from '../contract/foresight.js';
import type { OperationId, Rate } from '../contract/operations.js';
import type { Recovery } from '../contract/recovery.js';
import type { Registrar } from '../contract/registration.js';
import type { Service } from '../contract/service.js';
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { Secret } from '../values/secret.js';
import type { Clock } from '../values/time.js';
import type { Settings } from './config/settings.js';
import type { DatabaseAdmin } from './database-admin.js';
import type { Journal, Processes } from './journal/journal.js';
import type { LocalAdmin } from './local-admin.js';

export type {
  FetchedProgram,
  GapReport,
  LocalAdmin,
  LocalInitInput,
  LocalInitResult,
  LocalStatusResult,
  LocalVaultResult,
  RotatedKey,
} from './local-admin.js';

/** Why a stream cannot be written whose reader left, which may be all that it wanted. */
export const READER_GONE = 'its reader is gone';

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

/** A service with what a command needs beside it. */
export interface OpenedService {
  readonly kind: 'embedded' | 'remote';
  readonly service: Service;
  readonly credential: Secret | null;
  /** The local ledger or the user's own RPC; `null` where no chain can be read. */
  readonly chain: ChainReader | null;
  /** Brings a signed transaction onto that chain; `null` where there is none. */
  readonly sender: ChainSender | null;
  /** The chain is a ledger of this machine: to look at it takes no network. */
  readonly isOnThisMachine: boolean;
  /** Name of the public cluster that it is on, where that is known without asking; else `null`. */
  readonly explorer: string | null;
  /** That chain, as wallets call it. @throws `ERR_UNAVAILABLE` */
  walletChain(): Promise<string>;
  /** What has landed, on the local ledger or the user's own RPC; `null` where no chain can be read. */
  readonly history: History | null;
  /**
   * The flywheel that the user trusts, from the local registration or the profile: every address that an approval may name.
   * `null` when nothing is pinned.
   */
  trusted(): Promise<Flywheel | null>;
  /** What votes are held against; known whether or not a chain can be read. `null` when nothing is pinned. */
  readonly pins: Pins | null;
  /** What was confirmed just now is pinned for the rest of the command, whether or not a profile keeps it. */
  confirm(pins: Pins): void;
  /** What the token is called where it was registered; `null` where that is elsewhere. */
  readonly symbol: string | null;
  /** A machine to try a batch out in. @throws `ERR_INTERNAL` where there is none for this computer. */
  simulator(): Promise<Simulator>;
  /** What requests would come to; `null` where the service is elsewhere and would have to be sent them. */
  readonly foresight: Foresight | null;
  /** What the service itself has left unfinished; `null` where it is elsewhere and sees to that. */
  readonly recovery: Recovery | null;
  /** The operations of this service; opened at the first call, closed with the service. */
  journal(): Promise<Journal>;
  close(): Promise<void>;
}

/** Options of `serve` beyond the global ones. */
export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  readonly maxBodyBytes: number;
  /** Opens `/metrics`; `null`: loopback only. */
  readonly metricsToken: Secret | null;
  /** For how long running requests may go on after a stop was asked for. */
  readonly shutdownGraceMs: number;
  /** Rate limits in place of the contract's. */
  readonly rates: Partial<Record<OperationId, Rate>>;
  /** Those that single keys have of their own, by the id of the key. */
  readonly keyRates: Readonly<Record<string, Partial<Record<OperationId, Rate>>>>;
  /** Origins whose pages may read the answers in a browser. */
  readonly corsOrigins: readonly string[];
  /** Is the API key taken from `authorization: Bearer …` as well? */
  readonly bearer: boolean;
}

/** Options of `local rpc` beyond the global ones. */
export interface LocalRpcTerms {
  readonly host: string;
  /** 0 takes a free one; subscriptions take the one after it as well. */
  readonly port: number;
  readonly slotMs: number;
  /** Does a slot go by only when a transaction comes? */
  readonly onDemand: boolean;
  /** Slots; `undefined`: what fits the pace. */
  readonly confirmedAfter: number | undefined;
  readonly finalizedAfter: number | undefined;
  /** Rules of faults as JSON. */
  readonly faults: unknown;
  /** Of the faults. */
  readonly seed: number;
}

/** A server that listens. */
export interface RunningServer {
  readonly url: string;
  /** Resolves with why the server cannot go on, if that comes to pass. */
  readonly failed: Promise<FlywheelError>;
  /** Stops accepting, finishes what runs, closes. */
  close(): Promise<void>;
}

/** A node that listens. */
export interface RunningRpc extends RunningServer {
  readonly webSocketUrl: string;
}

/** Everything the command line knows of the outside world. */
export interface CliContext {
  readonly io: Io;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly cwd: string;
  readonly home: string;
  readonly version: string;
  readonly platform: string;
  /** Of node, such as `v22.1.0`. */
  readonly nodeVersion: string;
  /** This process and the others. */
  readonly processes: Processes;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** Waits. @throws when the signal is aborted. */
  sleep(ms: number): Promise<void>;
  openService(settings: Settings): Promise<OpenedService>;
  openLocal(settings: Settings): Promise<LocalAdmin>;
  startServer(settings: Settings, options: ServeOptions): Promise<RunningServer>;
  startLocalRpc(settings: Settings, terms: LocalRpcTerms): Promise<RunningRpc>;
  /** Looks at each of the user's own RPC nodes, without a service. */
  checkRpc(settings: Settings): Promise<readonly NodeReport[]>;
  /** Registers a project of a cluster in the data directory. @param cluster - a name or the address of a node. */
  openRegistrar(settings: Settings, cluster: string): Promise<Registrar>;
  /** The database of the settings. @throws `ERR_CONFIG_INVALID` where none is named. */
  openDatabase(settings: Settings): Promise<DatabaseAdmin>;
  /** The chain of the data directory, read from its configuration alone; `null` where there is none, or the service is elsewhere. */
  dataChain(settings: Settings): Promise<DataChain | null>;
  /** What the flywheel of the data directory is held against, as it was registered; `null` where there is none, or the service is elsewhere. */
  dataPins(settings: Settings): Promise<Pins | null>;
  /** The settings with what the data directory that they name says: which nodes the cluster of its flywheel is reached through. */
  effectiveSettings(settings: Settings): Promise<Settings>;
}

/** The part of the context that comes from the process; the rest opens services for it. */
export type Ambient = Omit<
  CliContext,
  | 'openService'
  | 'openLocal'
  | 'startServer'
  | 'startLocalRpc'
  | 'checkRpc'
  | 'effectiveSettings'
  | 'dataChain'
  | 'dataPins'
  | 'openRegistrar'
  | 'openDatabase'
>;

/** How services are opened for a process; `compose` has the one implementation. */
export interface Openers {
  openService(ambient: Ambient, settings: Settings): Promise<OpenedService>;
  openLocal(ambient: Ambient, settings: Settings): Promise<LocalAdmin>;
  startServer(ambient: Ambient, settings: Settings, options: ServeOptions): Promise<RunningServer>;
  startLocalRpc(ambient: Ambient, settings: Settings, terms: LocalRpcTerms): Promise<RunningRpc>;
  checkRpc(ambient: Ambient, settings: Settings): Promise<readonly NodeReport[]>;
  effectiveSettings(ambient: Ambient, settings: Settings): Promise<Settings>;
  openRegistrar(ambient: Ambient, settings: Settings, cluster: string): Promise<Registrar>;
  openDatabase(ambient: Ambient, settings: Settings): Promise<DatabaseAdmin>;
  dataChain(ambient: Ambient, settings: Settings): Promise<DataChain | null>;
  dataPins(ambient: Ambient, settings: Settings): Promise<Pins | null>;
}
