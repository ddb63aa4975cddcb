/**
 * What the commands that administer a project on this machine give and get; never served over HTTP (contract, sections 2.1 and
 * 2.7). Results that are not here have the type that their function returns.
 */
import type { Scope } from '../values/key-terms.js';

interface ProjectTerms {
  readonly tokenGeneration: 'v1' | 'v2';
  readonly proofTypes: readonly string[];
  readonly scopes: readonly Scope[];
  /** Whole tokens per UTC day as decimal text; `null` for no cap. */
  readonly dailyBurn: string | null;
  readonly dailyAirdrop: string | null;
  /** The engine never gets the owner's key. */
  readonly owner: string;
  /** Balance that init must leave to the operator. @default 0.1 SOL */
  readonly minOperatorSol?: bigint | undefined;
  /** Rent that all batches with open accounts may take together. @default 5 SOL */
  readonly maxBatchRent?: bigint | undefined;
}

export interface RegisterInput extends ProjectTerms {
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  /** Whole tokens as decimal text, minted once; registration then removes the mint authority. */
  readonly supply: string;
  readonly tokenProgram: 'token' | 'token-2022';
  /** Whole tokens and SOL as decimal text. */
  readonly vaultTokens: string;
  readonly vaultSol: string;
  readonly burnWalletTokens: string;
  readonly burnWalletSol: string;
}

export interface ApiKeyCreated {
  readonly id: string;
  /** Shown once; the store has only its SHA-256. */
  readonly key: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
}

export interface KeyTerms {
  readonly name?: string | null;
  readonly scopes: readonly Scope[];
  /** `null`: every proof type of the project. */
  readonly proofTypes: readonly string[] | null;
}

export interface AuditQuery {
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
}

export interface Registration {
  readonly tokenId: string;
  readonly name: string;
  readonly symbol: string;
  readonly mintAddress: string;
  readonly decimals: number;
  readonly tokenProgram: 'token' | 'token-2022';
  readonly tokenGeneration: 'v1' | 'v2';
  readonly flywheelId: string;
  readonly multisig: string;
  readonly vaultIndex: number;
  readonly vaultAddress: string;
  readonly burnWallet: string;
  readonly owner: string;
  readonly operator: string;
  readonly proofTypes: readonly string[];
  /** Whole tokens as decimal text; `null` for no cap. */
  readonly dailyLimits: { readonly burn: string | null; readonly airdrop: string | null };
}

/** Whole tokens as decimal text; `null` removes the cap, `undefined` leaves it unchanged. */
export interface CapChanges {
  readonly burn?: string | null | undefined;
  readonly airdrop?: string | null | undefined;
}

export interface FundInput {
  readonly to: 'vault' | 'burn-wallet' | 'owner' | 'operator' | (string & {});
  /** Whole tokens as decimal text. */
  readonly tokens?: string;
  readonly sol?: string;
}

export interface DataChain {
  readonly kind: 'ledger' | 'cluster';
  readonly name: string | null;
  readonly genesisHash: string;
}

export interface LocalInitInput extends Omit<RegisterInput, 'owner'> {
  readonly owner: { readonly address: string; readonly keypair: string } | null;
  /** Path of a Squads program file that replaces the native implementation. */
  readonly squadsProgram: string | null;
}

export interface RecoveryScope {
  /** @default every project of the store */
  readonly tokenId?: string | null;
}

export interface RecoveryTerms extends RecoveryScope {
  readonly signal?: AbortSignal;
  readonly onProblem?: (what: string, error: unknown) => void;
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

/** Begins the name of the check that the store has all transactions of a project; the symbol follows. */
export const KNOWN_CHECK = 'known ';

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

/** Registration of a project on a cluster. */
export interface ClusterRegistration extends ProjectTerms {
  readonly mint: string;
  readonly operator: string;
  /** `null`: create a wallet. */
  readonly burnWallet: string | null;
  /** `null`: create a multisig. */
  readonly multisig: string | null;
  readonly vaultIndex: number;
  readonly name: string | null;
  readonly symbol: string | null;
}

export interface RegistrationStep {
  readonly what: 'multisig' | 'vaultTokenAccount' | 'burnTokenAccount';
  readonly address: string | null;
  readonly isThere: boolean;
  /** Rent for creating the account, in lamports as text; 0 if it exists. */
  readonly rentLamports: string;
}

/** Plan of a registration, before anything is stored or sent; lamports are integer text. */
export interface RegistrationPlan {
  /** `name` is `null` for a private cluster. */
  readonly cluster: { readonly name: string | null; readonly genesisHash: string };
  readonly project?: string;
  readonly mint: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly tokenProgram: Registration['tokenProgram'];
  readonly owner: string;
  readonly operator: string;
  /** `null` for an account that the registration creates: its address is not known yet. */
  readonly burnWallet: string | null;
  readonly multisig: string | null;
  readonly vaultIndex: number;
  readonly vault: string | null;
  readonly steps: readonly RegistrationStep[];
  readonly costs: {
    readonly rentLamports: string;
    readonly squadsFeeLamports: string;
    readonly squadsTreasury: string | null;
    readonly feeLamports: string;
    readonly maxPriorityFeeLamports: string;
    readonly totalLamports: string;
    readonly operatorLamports: string;
    readonly missingLamports: string;
  };
  readonly facts: Readonly<Record<string, string>>;
  readonly irreversible: readonly string[];
  readonly warnings: readonly string[];
  /** `unfinished` resumes a registration; `finished` checks it again. */
  readonly state: 'new' | 'unfinished' | 'finished';
}

/** An address whose key is stored elsewhere, or a key for the data directory: 64 bytes, seed and public key. */
export type GivenKey = string | Uint8Array;

export interface RegistrationInput extends Omit<ClusterRegistration, 'operator' | 'burnWallet'> {
  readonly operator: GivenKey;
  readonly burnWallet: GivenKey | null;
}

export interface RegistrationTerms {
  readonly input: RegistrationInput;
  agree(plan: RegistrationPlan): Promise<boolean>;
}

export interface RegistrationResult {
  readonly cluster: RegistrationPlan['cluster'];
  readonly project?: string;
  readonly registration: Registration;
  readonly apiKey: ApiKeyCreated | null;
  readonly txHash: string | null;
}
