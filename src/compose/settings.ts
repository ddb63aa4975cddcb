/** The resolved global options, each with its source. */
import type { Limits } from '../approval/limits.js';
import type { Pins } from '../approval/pins.js';
import type { Commitment } from '../chain/chain.js';
import type { NodeAddress } from '../chain/node-address.js';
import type { KeypairSigner } from '../chain/transaction/sign.js';
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { DatabaseAddress } from '../values/database-address.js';
import type { Secret } from '../values/secret.js';

/** Strongest first. */
export type Source = 'flag' | 'environment' | 'data directory' | 'profile' | 'default';

export interface Setting<Value> {
  readonly value: Value;
  readonly source: Source;
}

export type OutputMode = 'human' | 'json' | 'ndjson' | 'csv';

/** Form of errors, warnings and notices: sentences, or one JSON object per line. */
export type MessageForm = 'text' | 'json';

/** The source of a signing key (a program, or a keypair from the environment), and where that source is set. */
export type KeyKeeper = { readonly where: string } & (
  | { readonly command: string }
  | { load(): Promise<KeypairSigner> }
);

/** `null`: as the data directory says; by default the key is in it. */
interface SignerSettings {
  readonly operator: Setting<KeyKeeper | null>;
  readonly burnWallet: Setting<KeyKeeper | null>;
}

interface LimitSetting {
  readonly value: Limits;
  readonly source: 'profile' | 'flag';
}

export interface Settings {
  readonly output: OutputMode;
  readonly messages: MessageForm;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly noInput: boolean;
  readonly yes: boolean;
  readonly profile: Setting<string | null>;
  /** Base URL of the remote API; `null`: the embedded engine. */
  readonly apiUrl: Setting<string | null>;
  readonly apiKeyHeader: Setting<string>;
  /** From environment or profile; `null`: for the embedded engine, the key that `local init` made. */
  readonly apiKey: Setting<Secret | null>;
  readonly configDir: Setting<string>;
  readonly dataDir: Setting<string>;
  /** Stores the projects instead of the data directory; `null` in remote use, or if none is named. */
  readonly database: Setting<DatabaseAddress | null>;
  readonly databasePool: Setting<number>;
  /** Project name in a database; `null`: the only project, or the API key's. */
  readonly project: Setting<string | null>;
  /** The user's RPC nodes in order of preference; in remote use they verify approvals. May be empty. */
  readonly rpcUrl: Setting<readonly NodeAddress[]>;
  readonly rpcQuorum: Setting<number>;
  /** Why the environment's nodes are unusable; thrown only when nodes are needed. */
  readonly rpcProblem: FlywheelError | null;
  /** Lamports beyond the signature fees that a transaction on a cluster may pay. */
  readonly maxPriorityFee: Setting<number>;
  readonly commitment: Setting<Commitment>;
  /** For one attempt of a request. */
  readonly timeoutSeconds: Setting<number>;
  /** For a request with its retries and waits, and for `--watch`. */
  readonly waitSeconds: Setting<number>;
  /** For all waits between the attempts of a request. */
  readonly maxWaitSeconds: Setting<number>;
  readonly keypair: Setting<string | Secret | null>;
  readonly signers: SignerSettings;
  /** Pins from a profile or a pins file, so that `batch approve` need not trust the service. */
  readonly pinned: Setting<Pins | null>;
  readonly pinsFile: string | null;
  /** All of them apply. */
  readonly limits: readonly LimitSetting[];
}
