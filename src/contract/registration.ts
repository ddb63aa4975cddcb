/** Registration of a project on a cluster: input, plan and result; never served over HTTP. */
import type { Scope } from '../values/key-terms.js';
import type { ApiKeyCreated, BatchFunds, Registration, TokenGeneration } from './admin.js';

export interface ClusterRegistration extends BatchFunds {
  readonly mint: string;
  readonly owner: string;
  readonly operator: string;
  /** `null`: create a wallet. */
  readonly burnWallet: string | null;
  /** `null`: create a multisig. */
  readonly multisig: string | null;
  readonly vaultIndex: number;
  readonly name: string | null;
  readonly symbol: string | null;
  readonly tokenGeneration: TokenGeneration;
  readonly proofTypes: readonly string[];
  readonly scopes: readonly Scope[];
  /** Whole tokens per UTC day as decimal text; `null` for no cap. */
  readonly dailyBurn: string | null;
  readonly dailyAirdrop: string | null;
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
