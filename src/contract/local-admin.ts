/** Interfaces of the commands that administer a project on this machine; never served over HTTP. */

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
  readonly owner: { readonly address: string; readonly keypair: string } | null;
  /** Path of a Squads program file that replaces the native implementation. */
  readonly squadsProgram: string | null;
}

export interface LocalInitResult extends Omit<Registration, 'name' | 'symbol' | 'tokenGeneration' | 'owner'> {
  readonly owner: { readonly address: string; readonly keypair: string };
  readonly apiKey: ApiKeyCreated;
}

type Balances = RegistrationStatus['balances'];

export interface LocalStatusResult extends Omit<LocalInitResult, 'apiKey' | 'owner'> {
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
  /** `null`: the embedded ledger. `name` is `null` for a private cluster. */
  readonly cluster: { readonly name: string | null; readonly genesisHash: string } | null;
}

export interface GapReport {
  readonly project: string | null;
  readonly symbol: string;
  readonly burns: number;
  readonly transactions: number;
  readonly burned: string;
  readonly airdropped: string;
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

export interface UnfinishedWork {
  readonly id: string;
  readonly operation: KeyedOperationId;
  readonly idempotencyKey: string | null;
  readonly running: boolean;
  readonly dateBegun: string;
  readonly signatures: readonly string[];
}

export interface RecoveryScope {
  /** @default every project of the store */
  readonly tokenId?: string | null;
}

export interface RecoveryTerms extends RecoveryScope {
  readonly signal?: AbortSignal;
  readonly onProblem?: (what: string, error: unknown) => void;
}

export interface Recovery {
  unfinished(scope?: RecoveryScope): Promise<readonly UnfinishedWork[]>;
  finish(terms: RecoveryTerms): Promise<void>;
}

export interface Change {
  readonly before: string;
  readonly after: string;
}

export interface ForeseenFailure {
  readonly index: number;
  readonly type: string;
  readonly message: string;
}

/** Assumes that nothing else is sent meanwhile. */
export interface BurnsForesight {
  readonly failures: readonly ForeseenFailure[];
  readonly burnWallet: Change;
  readonly supply: Change;
  readonly usedToday: Change;
}

/** Assumes execution today. */
export interface BatchForesight {
  readonly vault: Change;
  readonly supply: Change;
  readonly usedToday: { readonly burn: Change; readonly airdrop: Change };
  readonly costs: {
    readonly feeLamports: string;
    /** The operator pays this rent and gets it back when the batch is closed. */
    readonly rentPaidLamports: string;
    /** The vault pays this rent for token accounts of recipients and does not get it back. */
    readonly vaultRentLamports: string;
  };
}

export interface Foresight {
  /** @throws `ERR_UNAUTHORIZED`, `ERR_KEY_SCOPES_UNAUTHORIZED` */
  burns(requests: readonly BurnRequest[], credential: Secret | null): Promise<BurnsForesight>;
  /** @throws the same error as init, with every problem. */
  batch(request: InitBatchRequest, credential: Secret | null): Promise<BatchForesight>;
}

interface DatabaseProject {
  readonly name: string | null;
  readonly symbol: string;
  readonly mintAddress: string;
}

interface DatabaseHolder {
  readonly instance: string;
  readonly requests: number;
  readonly batches: number;
}

export interface DatabaseStatus {
  readonly database: string;
  /** Name of the setting that gave the address. */
  readonly source: string;
  readonly serverVersion: string;
  readonly latencyMs: number;
  readonly schema: { readonly version: number; readonly needed: number; readonly upToDate: boolean };
  readonly chain: { readonly name: string | null; readonly genesisHash: string } | null;
  readonly projects: { readonly count: number; readonly first: readonly DatabaseProject[] };
  readonly sizes: {
    readonly bytes: number;
    readonly tables: readonly { readonly name: string; readonly rows: number; readonly bytes: number }[];
  };
  readonly connections: { readonly flywheel: number; readonly all: number; readonly max: number };
  readonly pending: { readonly burns: number; readonly batches: number };
  readonly holders: readonly DatabaseHolder[];
  readonly openGaps: number;
  /** Block height at which every transaction that another copy may have sent has expired and writes resume; `null`: no wait. */
  readonly heldUntilBlock: string | null;
}

export interface DatabaseFinding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}
