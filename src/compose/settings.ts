/** The resolved global options: each value together with where it came from. What a command does with them is its own matter. */
import type { Limits } from '../approval/limits.js';
import type { Pins } from '../approval/pins.js';
import type { Commitment } from '../chain/chain.js';
import type { NodeAddress } from '../chain/node-address.js';
import type { KeypairSigner } from '../chain/transaction/sign.js';
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { DatabaseAddress } from '../values/database-address.js';
import type { Secret } from '../values/secret.js';

/** Where a value came from, strongest first. */
export type Source = 'flag' | 'environment' | 'data directory' | 'profile' | 'solana config' | 'default';

export interface Setting<Value> {
  readonly value: Value;
  readonly source: Source;
}

export type OutputMode = 'human' | 'json' | 'ndjson' | 'csv';

/** How errors, warnings and notices are written: as sentences, or a JSON object a line. */
export type MessageForm = 'text' | 'json';

/** Who keeps a key that the embedded engine signs with, and where that is said: a program, or a keypair that the environment gives. */
export type KeyKeeper = { readonly where: string } & (
  | { readonly command: string }
  | { load(): Promise<KeypairSigner> }
);

/** Of what is `null` the data directory says who keeps it; it does itself unless it names another. */
export interface SignerSettings {
  readonly operator: Setting<KeyKeeper | null>;
  readonly burnWallet: Setting<KeyKeeper | null>;
}

export interface LimitSetting {
  readonly value: Limits;
  /** A profile, or the file of `--pins`. */
  readonly source: 'profile' | 'flag';
}

export interface Settings {
  readonly output: OutputMode;
  readonly messages: MessageForm;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  readonly noInput: boolean;
  readonly yes: boolean;
  /** Name of the profile in use, or `null`. */
  readonly profile: Setting<string | null>;
  /** Base address of the remote API; `null`: the embedded engine. */
  readonly apiUrl: Setting<string | null>;
  readonly apiKeyHeader: Setting<string>;
  /** From environment or profile; `null`: for the embedded engine the key that `local init` made. */
  readonly apiKey: Setting<Secret | null>;
  readonly configDir: Setting<string>;
  readonly dataDir: Setting<string>;
  /** Holds the flywheels in place of the data directory; `null` in remote use, and where none is named. */
  readonly database: Setting<DatabaseAddress | null>;
  /** Connections to it that a process takes at most. */
  readonly databasePool: Setting<number>;
  /** Which of its flywheels is meant, by name; `null`: the only one, or that of the API key. */
  readonly project: Setting<string | null>;
  /** The user's own RPC nodes, the first choice first; with them approvals are checked in remote use. None: empty. */
  readonly rpcUrl: Setting<readonly NodeAddress[]>;
  /** How many of them have to agree. */
  readonly rpcQuorum: Setting<number>;
  /** Why the nodes that the environment names cannot be used; matters only where nodes are needed. */
  readonly rpcProblem: FlywheelError | null;
  /** Lamports that a transaction on a cluster pays beyond its signatures at most. */
  readonly maxPriorityFee: Setting<number>;
  /** From when on it counts as landed there. */
  readonly commitment: Setting<Commitment>;
  /** Seconds for one request, and for waiting with `--watch`; `null`: the default of each. */
  readonly timeoutSeconds: Setting<number | null>;
  /** Seconds for one request with all its tries and the waits between them. */
  readonly waitSeconds: Setting<number>;
  readonly maxWaitSeconds: Setting<number>;
  readonly keypair: Setting<string | Secret | null>;
  readonly signers: SignerSettings;
  /** What a profile or a file of pins says of the project, so that `batch approve` need not believe the service. */
  readonly pinned: Setting<Pins | null>;
  /** Absolute path of the file of pins that the command line names. */
  readonly pinsFile: string | null;
  /** Each of them holds. */
  readonly limits: readonly LimitSetting[];
}
