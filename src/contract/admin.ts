/**
 * Inputs and results of registration, keys, funding and status of the embedded engine; never served over HTTP (contract, sections
 * 2.1 and 2.7).
 */
import type { Scope } from '../values/key-terms.js';

export type TokenProgramName = 'token' | 'token-2022';
export type TokenGeneration = 'v1' | 'v2';

export interface RegisterInput {
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  /** Whole tokens as decimal text, minted once; registration then removes the mint authority. */
  readonly supply: string;
  readonly tokenProgram: TokenProgramName;
  readonly tokenGeneration: TokenGeneration;
  /** Whole tokens and SOL as decimal text. */
  readonly vaultTokens: string;
  readonly vaultSol: string;
  readonly burnWalletTokens: string;
  readonly burnWalletSol: string;
  readonly proofTypes: readonly string[];
  readonly scopes: readonly Scope[];
  /** Whole tokens per UTC day; `null` for no cap. */
  readonly dailyBurn: string | null;
  readonly dailyAirdrop: string | null;
  /** The engine never gets the owner's key. */
  readonly owner: string;
  /** Lamports; `null`: the default of {@link BatchFunds}. @default null */
  readonly minOperatorSol?: bigint | null;
  readonly maxBatchRent?: bigint | null;
}

export interface BatchFunds {
  /** Balance that init must leave to the operator. @default 0.1 SOL */
  readonly minOperatorSol?: bigint | undefined;
  /** Rent that all batches with open accounts may take together. @default 5 SOL */
  readonly maxBatchRent?: bigint | undefined;
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

export interface ApiKeyInfo {
  readonly id: string;
  readonly name: string | null;
  readonly isInUse: boolean;
  readonly scopes: readonly Scope[];
  /** `null`: every proof type of the project. */
  readonly proofTypes: readonly string[] | null;
  readonly dateCreated: string;
  readonly dateRevoked: string | null;
  /** Exclusive; `null`: the key does not expire. */
  readonly dateExpires: string | null;
}

export interface AuditAct {
  readonly date: string;
  readonly actor: string;
  readonly action: string;
  /** Name of the project, or its symbol if it has no name; `null` for an action on the whole store. */
  readonly project: string | null;
  readonly subject: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
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
  readonly tokenProgram: TokenProgramName;
  readonly tokenGeneration: TokenGeneration;
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

/** Token amounts are decimal text in whole tokens, lamports integer text. */
export interface RegistrationStatus extends Registration {
  readonly supply: string;
  readonly burned: string;
  readonly balances: {
    readonly vault: { readonly tokens: string; readonly lamports: string };
    readonly burnWallet: { readonly tokens: string; readonly lamports: string };
    readonly owner: { readonly lamports: string };
    readonly operator: { readonly lamports: string };
  };
  readonly usedToday: { readonly burn: string; readonly airdrop: string };
}

export interface CapState {
  /** Landed today, plus everything that may still land. */
  readonly used: string;
  /** `null` for no cap. */
  readonly cap: string | null;
  readonly left: string | null;
}

export interface Caps {
  readonly day: string;
  readonly symbol: string;
  readonly burn: CapState;
  readonly airdrop: CapState;
}

/** Whole tokens as decimal text; `null` removes the cap, `undefined` leaves it unchanged. */
export interface CapChanges {
  readonly burn?: string | null | undefined;
  readonly airdrop?: string | null | undefined;
}

export interface VaultReport
  extends Pick<
    Registration,
    | 'name'
    | 'symbol'
    | 'mintAddress'
    | 'multisig'
    | 'vaultIndex'
    | 'vaultAddress'
    | 'burnWallet'
    | 'owner'
    | 'operator'
  > {
  readonly vaultTokenAccount: string;
  readonly burnTokenAccount: string;
  readonly balances: RegistrationStatus['balances'];
  readonly today: Caps;
  /** Estimates for pipelines with one action each. */
  readonly pipelines: {
    readonly rentLamports: string;
    /** Upper bound per pipeline, with its share of the batch's own fees. */
    readonly feeLamports: string;
    readonly openRentLamports: string;
    /** Pipelines that fit in one batch set up now. */
    readonly atOnce: number;
    /** Paid by the vault for the token account of a new recipient. */
    readonly vaultRentLamports: string;
    /** Pipelines in consecutive batches, with one new recipient each. */
    readonly lasts: string;
  };
  /** Upper bound of the fee of one burn, and the number of burns that the burn wallet's SOL pays for. */
  readonly burns: { readonly feeLamports: string; readonly lasts: string };
}

export interface FundInput {
  readonly to: 'vault' | 'burn-wallet' | 'owner' | 'operator' | (string & {});
  /** Whole tokens as decimal text. */
  readonly tokens?: string;
  readonly sol?: string;
}

export interface FundResult {
  readonly address: string;
  readonly tokens: string;
  readonly lamports: string;
  readonly txHash: string;
}

export interface DataChain {
  readonly kind: 'ledger' | 'cluster';
  readonly name: string | null;
  readonly genesisHash: string;
}
