/** What the `db` commands ask of a database, and what they are told. */

/** What was brought up to date. */
export interface DatabaseMigration {
  /** Where the database is, without what is secret. */
  readonly database: string;
  /** Versions of the schema; 0: there was none. */
  readonly from: number;
  readonly to: number;
  /** Names of the migrations, in their order. */
  readonly applied: readonly string[];
}

interface DatabaseProject {
  readonly name: string | null;
  readonly symbol: string;
  readonly mintAddress: string;
}

/** Who works on something, as far as the leases say. */
interface DatabaseHolder {
  readonly instance: string;
  readonly requests: number;
  readonly batches: number;
}

export interface DatabaseStatus {
  readonly database: string;
  /** What named it. */
  readonly source: string;
  readonly serverVersion: string;
  readonly latencyMs: number;
  readonly schema: { readonly version: number; readonly needed: number; readonly upToDate: boolean };
  /** `null` before anything is registered. */
  readonly chain: { readonly name: string | null; readonly genesisHash: string } | null;
  readonly projects: { readonly count: number; readonly first: readonly DatabaseProject[] };
  readonly sizes: {
    readonly bytes: number;
    /** Rows as the database estimates them. */
    readonly tables: readonly { readonly name: string; readonly rows: number; readonly bytes: number }[];
  };
  readonly connections: { readonly flywheel: number; readonly all: number; readonly max: number };
  readonly pending: { readonly burns: number; readonly batches: number };
  readonly holders: readonly DatabaseHolder[];
  /** Gaps that nobody has accepted yet. */
  readonly openGaps: number;
  /** Height at which all has expired that another copy may have sent, and writes go on; `null` where nothing is waited for. */
  readonly heldUntilBlock: string | null;
}

/** One thing that was looked at. */
export interface DatabaseFinding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** What was copied into a database. */
export interface DatabaseCopy {
  readonly database: string;
  /** The name that the flywheel has there. */
  readonly project: string;
  readonly rows: number;
  readonly tables: readonly { readonly name: string; readonly rows: number; readonly sha256: string }[];
  /** All of it was there before. */
  readonly wasThere: boolean;
}

export interface DatabaseAdmin {
  migrate(terms: { readonly isDryRun: boolean }): Promise<DatabaseMigration>;
  /** Everything of the data directory. @throws `ERR_INPUT_INVALID` where something else is there; nothing was written then. */
  copy(): Promise<DatabaseCopy>;
  status(): Promise<DatabaseStatus>;
  /** Looks for rows that break what has to hold. @param terms - `onChain`: what has landed is looked up there too. */
  check(terms: { readonly onChain: boolean }): Promise<readonly DatabaseFinding[]>;
}
