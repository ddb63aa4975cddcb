/** Registration, keys, funding and status of the embedded engine; never served over HTTP (contract, sections 2.1 and 2.7). */
import type { Scope } from '../values/key-terms.js';

export type TokenProgramName = 'token' | 'token-2022';
export type TokenGeneration = 'v1' | 'v2';

export interface RegisterInput {
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  /** Whole tokens as decimal text; minted once, the mint authority is then given up. */
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
  /** Whole tokens a UTC day; `null` for no cap. */
  readonly dailyBurn: string | null;
  readonly dailyAirdrop: string | null;
  /** The owner's address; the engine never sees the owner's key. */
  readonly owner: string;
  /** Lamports; `null`: as usual. @default null */
  readonly minOperatorSol?: bigint | null;
  readonly maxBatchRent?: bigint | null;
}

/** How much SOL batches may take, in lamports. */
export interface BatchFunds {
  /** What init leaves the operator with at least. @default 0.1 SOL */
  readonly minOperatorSol?: bigint | undefined;
  /** Rent that all batches which are not closed may take together. @default 5 SOL */
  readonly maxBatchRent?: bigint | undefined;
}

export interface ApiKeyCreated {
  readonly id: string;
  /** Shown once; only its SHA-256 is stored. */
  readonly key: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
}

export interface KeyTerms {
  readonly name?: string | null;
  readonly scopes: readonly Scope[];
  /** `null`: every proof type of the flywheel. */
  readonly proofTypes: readonly string[] | null;
}

export interface ApiKeyInfo {
  readonly id: string;
  readonly name: string | null;
  /** Commands of this machine use it. */
  readonly isInUse: boolean;
  readonly scopes: readonly Scope[];
  /** `null`: every proof type of the flywheel. */
  readonly proofTypes: readonly string[] | null;
  readonly dateCreated: string;
  readonly dateRevoked: string | null;
  /** Valid before, and not from then on; `null` for a key without an end. */
  readonly dateExpires: string | null;
}

export interface AuditAct {
  readonly date: string;
  /** A user of a machine, or a key. */
  readonly actor: string;
  readonly action: string;
  /** Name of the project, or its symbol where it has none; `null` for what concerns the whole store. */
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
  /** Whole tokens as decimal text, or `null`. */
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
  /** What has landed today, and all that may still land. */
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

/** Whole tokens as decimal text; `null` for no cap, `undefined` where it stays. */
export interface CapChanges {
  readonly burn?: string | null | undefined;
  readonly airdrop?: string | null | undefined;
}

/** What a flywheel has to work with. Token amounts are decimal text in whole tokens, lamports integer text. */
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
  /** Of pipelines with one action each. */
  readonly pipelines: {
    /** Of each, until its batch is closed. */
    readonly rentLamports: string;
    /** Of each at most, with its share of what its batch takes. */
    readonly feeLamports: string;
    /** What waiting batches have laid out now. */
    readonly openRentLamports: string;
    /** In one batch that is set up now. */
    readonly atOnce: number;
    /** That the vault pays for the token account of a new recipient. */
    readonly vaultRentLamports: string;
    /** In all, one batch after the other, where each sends to one new recipient. */
    readonly lasts: string;
  };
  /** What the burn wallet pays for one at most, and how many its SOL lasts for. */
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

/** The chain that a data directory belongs to. */
export interface DataChain {
  readonly kind: 'ledger' | 'cluster';
  /** Of a public cluster. */
  readonly name: string | null;
  readonly genesisHash: string;
}
