/** What the commands that look after a flywheel on this machine are told; never served over HTTP. */

import type { Secret } from '../values/secret.js';
import type {
  ApiKeyCreated,
  BatchFunds,
  RegisterInput,
  Registration,
  RegistrationStatus,
  VaultReport,
} from './admin.js';
import type { KeyedOperationId } from './operations.js';
import type { InitBatchRequest } from './schemas/batch.js';
import type { BurnRequest } from './schemas/burn.js';

export interface LocalInitInput extends Omit<RegisterInput, 'owner' | keyof BatchFunds>, BatchFunds {
  /** An existing owner; `null`: a new keypair is made in the data directory. */
  readonly owner: { readonly address: string; readonly keypair: string } | null;
  /** Path of a Squads program file that replaces the native one. */
  readonly squadsProgram: string | null;
}

/** What `local init` prints (contract, section 2.7). */
export interface LocalInitResult extends Omit<Registration, 'name' | 'symbol' | 'tokenGeneration' | 'owner'> {
  readonly owner: { readonly address: string; readonly keypair: string };
  readonly apiKey: ApiKeyCreated;
}

type Balances = RegistrationStatus['balances'];

/** What `local status` prints: the registration without the key, and balances. */
export interface LocalStatusResult extends Omit<LocalInitResult, 'apiKey' | 'owner'> {
  /** `keypair` is `null` where the owner's key is not kept here. */
  readonly owner: { readonly address: string; readonly keypair: string | null };
  readonly apiKey?: Omit<ApiKeyCreated, 'key'>;
  readonly name?: string;
  readonly symbol?: string;
  readonly supply: string;
  readonly burned: string;
  readonly balances: Omit<Balances, 'operator'> & Partial<Pick<Balances, 'operator'>>;
  readonly usedToday: RegistrationStatus['usedToday'];
}

export interface LocalVaultResult extends VaultReport {
  /** `null`: the embedded ledger. `name` is `null` for somebody's own cluster. */
  readonly cluster: { readonly name: string | null; readonly genesisHash: string } | null;
}

/** What the chain knows of a project and the store does not; amounts in whole tokens. */
export interface GapReport {
  readonly project: string | null;
  readonly symbol: string;
  readonly burns: number;
  readonly transactions: number;
  readonly burned: string;
  readonly airdropped: string;
  /** Burns that the store has as pending: they are carried on once the gap is accepted. */
  readonly pendingBurns: number;
  readonly dateFound: string;
  readonly lost: readonly {
    readonly txHash: string;
    readonly burned: string;
    readonly airdropped: string;
    readonly memo: string | null;
    readonly date: string | null;
  }[];
}

/** One request or batch whose transactions have no known end. */
export interface UnfinishedWork {
  readonly id: string;
  readonly operation: KeyedOperationId;
  readonly idempotencyKey: string | null;
  readonly running: boolean;
  readonly dateBegun: string;
  /** Of what was sent, or may have been, and is not known to have landed or to have failed. */
  readonly signatures: readonly string[];
}

export interface RecoveryScope {
  /** Of this token only. @default of every project of the store */
  readonly tokenId?: string | null;
}

export interface RecoveryTerms extends RecoveryScope {
  readonly signal?: AbortSignal;
  /** Hears why something stays unfinished for now. */
  readonly onProblem?: (what: string, error: unknown) => void;
}

export interface Recovery {
  unfinished(scope?: RecoveryScope): Promise<readonly UnfinishedWork[]>;
  finish(terms: RecoveryTerms): Promise<void>;
}

/** Something that a request would change; whole tokens or SOL as decimal text. */
export interface Change {
  readonly before: string;
  readonly after: string;
}

export interface ForeseenFailure {
  readonly index: number;
  readonly type: string;
  readonly message: string;
}

/** What burns would come to, done now and by nobody else beside. */
export interface BurnsForesight {
  readonly failures: readonly ForeseenFailure[];
  readonly burnWallet: Change;
  readonly supply: Change;
  readonly usedToday: Change;
}

/** What a batch would come to when it is executed on this day. */
export interface BatchForesight {
  readonly vault: Change;
  readonly supply: Change;
  readonly usedToday: { readonly burn: Change; readonly airdrop: Change };
  /** In lamports. */
  readonly costs: {
    /** Fees of operator and owner, at most. */
    readonly feeLamports: string;
    /** Rent that the operator lays out until the batch is closed. */
    readonly rentPaidLamports: string;
    /** Rent that the vault pays for token accounts of recipients; it does not come back. */
    readonly vaultRentLamports: string;
  };
}

export interface Foresight {
  /** @throws `ERR_UNAUTHORIZED`, `ERR_KEY_SCOPES_UNAUTHORIZED` */
  burns(requests: readonly BurnRequest[], credential: Secret | null): Promise<BurnsForesight>;
  /** @throws with every reason why the batch would be refused, as init does. */
  batch(request: InitBatchRequest, credential: Secret | null): Promise<BatchForesight>;
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

export interface DatabaseFinding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}
