/** Registration of a project on a cluster: what is asked for, what it will come to, and what came of it; never served over HTTP. */
import type { Scope } from '../values/key-terms.js';
import type { ApiKeyCreated, BatchFunds, Registration, TokenGeneration } from './admin.js';

export interface ClusterRegistration extends BatchFunds {
  /** An SPL token that is there already. */
  readonly mint: string;
  /** Approves every batch; its key is not needed. */
  readonly owner: string;
  readonly operator: string;
  /** `null`: a new wallet is made. */
  readonly burnWallet: string | null;
  /** A multisig that is there already; `null`: a new one is made. */
  readonly multisig: string | null;
  readonly vaultIndex: number;
  /** `null`: what the token is called on chain. */
  readonly name: string | null;
  readonly symbol: string | null;
  readonly tokenGeneration: TokenGeneration;
  readonly proofTypes: readonly string[];
  readonly scopes: readonly Scope[];
  /** Whole tokens a UTC day as decimal text; `null` for no cap. */
  readonly dailyBurn: string | null;
  readonly dailyAirdrop: string | null;
}

export interface RegistrationStep {
  readonly what: 'multisig' | 'vaultTokenAccount' | 'burnTokenAccount';
  /** `null` where the registration makes the key that it comes of. */
  readonly address: string | null;
  readonly isThere: boolean;
  /** What creating it takes, in lamports as text; 0 where it is there. */
  readonly rentLamports: string;
}

/** What a registration will do, before anything is written or sent; lamports are integer text. */
export interface RegistrationPlan {
  /** `name` is `null` for somebody's own cluster. */
  readonly cluster: { readonly name: string | null; readonly genesisHash: string };
  readonly project?: string;
  readonly mint: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly tokenProgram: Registration['tokenProgram'];
  readonly owner: string;
  readonly operator: string;
  /** Of what the registration makes no address is known before it is done: `null`. */
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
    /** What the operator, who pays, holds. */
    readonly operatorLamports: string;
    readonly missingLamports: string;
  };
  /** Who may act for the flywheel and what its token allows. */
  readonly facts: Readonly<Record<string, string>>;
  readonly irreversible: readonly string[];
  readonly warnings: readonly string[];
  /** An unfinished registration is carried on, or a finished one looked at once more. */
  readonly state: 'new' | 'unfinished' | 'finished';
}

/** An address whose key is kept elsewhere, or the key that the data directory is to keep: 64 bytes, seed and public key. */
export type GivenKey = string | Uint8Array;

export interface RegistrationInput extends Omit<ClusterRegistration, 'operator' | 'burnWallet'> {
  readonly operator: GivenKey;
  readonly burnWallet: GivenKey | null;
}

/** What is wanted, and who is asked before it is done. */
export interface RegistrationTerms {
  readonly input: RegistrationInput;
  agree(plan: RegistrationPlan): Promise<boolean>;
}

export interface RegistrationResult {
  readonly cluster: RegistrationPlan['cluster'];
  readonly project?: string;
  readonly registration: Registration;
  /** `null` where the first key was made before. */
  readonly apiKey: ApiKeyCreated | null;
  /** What created the accounts; `null` where all were there. */
  readonly txHash: string | null;
}
