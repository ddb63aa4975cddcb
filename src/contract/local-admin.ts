/** What the commands that look after a flywheel ask of it, and what they are told. */

import type {
  Admin,
  ApiKeyCreated,
  ApiKeyInfo,
  BatchFunds,
  RegisterInput,
  Registration,
  RegistrationStatus,
  VaultReport,
} from './admin.js';

/** Input of `local init`. */
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

/** What `vault` prints. */
export interface LocalVaultResult extends VaultReport {
  /** `null`: the embedded ledger. `name` is `null` for somebody's own cluster. */
  readonly cluster: { readonly name: string | null; readonly genesisHash: string } | null;
}

/** The Squads program that the embedded engine runs. */
export interface FetchedProgram {
  readonly program: string;
  readonly sha256: string;
  /** Where it lies. */
  readonly file: string;
  /** It was not there before. */
  readonly fetched: boolean;
}

/** What the chain knows of a project and the store does not; amounts in whole tokens. */
export interface GapReport {
  /** Its name, where it has one. */
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

/** What can be done with the project of the settings beside calling its service. */
export interface LocalAdmin extends Pick<Admin, 'fund' | 'caps' | 'setCaps' | 'createKey' | 'audit'> {
  init(input: LocalInitInput): Promise<LocalInitResult>;
  status(): Promise<LocalStatusResult>;
  vault(): Promise<LocalVaultResult>;
  /** Takes the Squads program over from the user's own RPC node. @throws `ERR_USAGE` where none is named. */
  fetchSquads(): Promise<FetchedProgram>;
  /** Wipes the data directory. */
  reset(): Promise<void>;
  listKeys(): Promise<readonly ApiKeyInfo[]>;
  /** @param afterMs - for how long it stays valid. */
  revokeKey(id: string, afterMs: number): Promise<ApiKeyInfo>;
  /** What the chain knows and the store does not; `null` when nothing is missing. @throws `ERR_UNAVAILABLE` */
  gap(): Promise<GapReport | null>;
  /** Goes on without what is missing. @throws `ERR_INPUT_INVALID` when it is not so many transactions. */
  acceptGap(transactions: number): Promise<void>;
  /** Writes the owner's keypair file (0600); never over an existing file. */
  exportOwner(outFile: string): Promise<{ readonly address: string; readonly keypair: string }>;
  close(): Promise<void>;
}
