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

/** Begins the name of the check that the store has all transactions of a project; the symbol follows. */
export const KNOWN_CHECK = 'known ';

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

/** An address whose key is stored elsewhere, or a key for the data directory: 64 bytes, seed and public key. */
export type GivenKey = string | Uint8Array;

export interface RegistrationInput extends Omit<ClusterRegistration, 'operator' | 'burnWallet'> {
  readonly operator: GivenKey;
  readonly burnWallet: GivenKey | null;
}
