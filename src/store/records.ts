/** The records that the store keeps, as the engine sees them. Base units are bigint, times ISO text in UTC. */
import type { SourceAction } from '../actions/registry.js';
import type { TokenGeneration, TokenProgramName } from '../contract/admin.js';
import type { BatchCost } from '../contract/call.js';
import type { KeyedOperationId } from '../contract/operations.js';
import type { BatchStatus, ExecuteResult, InitResult } from '../contract/schemas/batch.js';
import type { Address } from '../values/address.js';
import type { Sha256 } from '../values/digest.js';
import type { Scope } from '../values/schemas.js';
import type { UtcDay } from '../values/time.js';

export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly symbol: string;
  readonly mintAddress: Address;
  readonly decimals: number;
  readonly tokenProgram: TokenProgramName;
  readonly generation: TokenGeneration;
  /** Base units ever minted. */
  readonly supply: bigint;
  /** Wallet whose tokens the two burn operations burn; it pays their fees too. */
  readonly burnWallet: Address;
  readonly burnTokenAccount: Address;
  readonly dateCreated: string;
}

export interface FlywheelRecord {
  readonly id: string;
  readonly tokenId: string;
  readonly multisig: Address;
  readonly vaultIndex: number;
  readonly vault: Address;
  readonly vaultTokenAccount: Address;
  readonly owner: Address;
  /** Initiates, approves and executes; pays fees and rent. */
  readonly operator: Address;
  readonly proofTypes: readonly string[];
  /** Base units a UTC day; `null` for no cap. */
  readonly dailyBurnCap: bigint | null;
  readonly dailyAirdropCap: bigint | null;
  /** Unique among the projects of a database; `null` where a store holds one project. */
  readonly name: string | null;
  /** `null` where a data directory says it. */
  readonly place: FlywheelPlace | null;
}

/** What a database says of a flywheel on a cluster beside its addresses. */
export interface FlywheelPlace {
  readonly squadsProgram: Address;
  /** Who may act for the flywheel and what its token allows, as it was confirmed at its registration. */
  readonly facts: Readonly<Record<string, string>>;
  /** Lamports that are left to the operator at least; `null`: as usual. */
  readonly minOperatorSol: bigint | null;
  /** Lamports of rent that waiting batches may take together; `null`: as usual. */
  readonly maxBatchRent: bigint | null;
}

export interface ApiKeyRecord {
  readonly id: string;
  readonly tokenId: string;
  /** SHA-256 of the key; the key itself is nowhere. */
  readonly hash: Sha256;
  readonly scopes: readonly Scope[];
  /** `null`: every proof type of the flywheel. */
  readonly proofTypes: readonly string[] | null;
  readonly dateCreated: string;
  readonly dateRevoked: string | null;
  /** Valid before, and not from then on; `null` for a key without an end. */
  readonly dateExpires: string | null;
  /** The key that it takes the place of, if it was made for that. */
  readonly rotatedFrom: string | null;
}

/** An administrative act, before it is written. */
export interface NewAuditEntry {
  /** `null` for what concerns the whole store. */
  readonly tokenId: string | null;
  /** Who did it: a user of a machine, or a key. */
  readonly actor: string;
  readonly action: AuditAction;
  /** Id of what it was done to. */
  readonly subject: string | null;
  /** What there is to know of it; never a secret. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly dateCreated: string;
}

/** What is written down of who administered what. */
export const AUDIT_ACTIONS = [
  'register',
  'keys.create',
  'keys.rotate',
  'keys.revoke',
  'gap.accept',
  'copy',
  'migrate',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry extends NewAuditEntry {
  /** Rising; given by the store. */
  readonly ordinal: number;
}

/** One logical request: its idempotency key, who works on it, and its answer. */
export interface RequestRecord {
  readonly id: string;
  /** The project: an idempotency key is the project's, whichever of its API keys brings it. */
  readonly tokenId: string;
  /** The API key that brought it first. */
  readonly keyId: string;
  readonly operation: KeyedOperationId;
  /** The idempotency key; a random one when the caller gave none. */
  readonly value: string;
  readonly fingerprint: Sha256;
  readonly status: 'running' | 'done';
  /** Engine instance that works on it, or worked on it when it died. */
  readonly instance: string;
  /** Until when its instance is believed to work on it, unless it is known to be dead. */
  readonly leaseUntilMs: number;
  /** JSON text of the successful answer; `null` while running. */
  readonly reply: string | null;
  readonly batchId: string | null;
  readonly dateCreated: string;
}

export type BurnStatus = 'PENDING' | 'SUCCESS' | 'FAILED';

/** One burn: an operation with its own signature and its own outcome. */
export interface BurnRecord {
  /** Given by the store, rising; makes otherwise equal transactions differ. */
  readonly sequence: number;
  readonly requestId: string;
  /** Position in its request, from 0. */
  readonly index: number;
  readonly tokenId: string;
  readonly keyId: string;
  readonly proofType: string;
  readonly proofHash: Sha256;
  /** Base units. */
  readonly amount: bigint;
  readonly persistOnchain: boolean;
  /** Day on which it was asked for; while it is pending it counts on that day and on each later one. */
  readonly day: UtcDay;
  readonly status: BurnStatus;
  /** Base58; of the transaction signed last. */
  readonly signature: string;
  /** What is sent; `null` once its end is final, and nothing is sent again. */
  readonly transaction: Uint8Array | null;
  readonly lastValidBlockHeight: bigint;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly dateCreated: string;
  /** When the burn landed or failed. */
  readonly dateSettled: string | null;
  /** What its transaction has cost; `null` where none has landed, or it was settled before this was kept. */
  readonly feeLamports: bigint | null;
}

export type BurnIntent = Omit<
  BurnRecord,
  'transaction' | 'status' | 'errorCode' | 'errorMessage' | 'dateSettled' | 'feeLamports'
> & { readonly transaction: Uint8Array };

export interface BurnOutcome {
  readonly sequence: number;
  readonly status: 'SUCCESS' | 'FAILED';
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly dateSettled: string;
  /** What its transaction has cost; `null` where none has landed. */
  readonly feeLamports: bigint | null;
}

/** What has landed in a block that a fork may still take back: a burn, or a bundle of a batch. */
export type NewLanding = ({ readonly sequence: number } | { readonly bundleId: string }) & {
  readonly slot: bigint;
  /** ISO text: when its block was made, but not before the day from which it counts against a cap. */
  readonly dateLanded: string;
  readonly feeLamports: bigint;
};

/** The same with what it belongs to. */
export type WatchedLanding = {
  /** Of all its transactions. */
  readonly tokenId: string;
  readonly signatures: readonly string[];
  readonly slot: bigint;
} & (
  | { readonly kind: 'burn'; readonly sequence: number; readonly requestId: string }
  | ({ readonly kind: 'bundle'; readonly bundleId: string; readonly batchId: string } & Pick<
      BundleRecord,
      'phase' | 'first'
    > &
      Pick<NewLanding, 'feeLamports' | 'dateLanded'>)
);

/** A pipeline as it was compiled; amounts in base units are derived from `actions` with the token's decimals. */
export interface PlannedPipeline {
  readonly type: string;
  readonly payload: string;
  readonly actions: readonly SourceAction[];
  readonly proofHash: Sha256;
  /** Argument form of the vault message (squads-v4.md, section 3), base64. */
  readonly message: string;
  /** Base units that this pipeline burns and airdrops. */
  readonly burn: bigint;
  readonly airdrop: bigint;
}

export interface BatchRecord {
  readonly id: string;
  readonly flywheelId: string;
  readonly tokenId: string;
  readonly keyId: string;
  /** The init request that made it. */
  readonly requestId: string;
  readonly status: BatchStatus;
  /** Index within the multisig; until the set-up has opened the batch on chain another may take it. */
  readonly batchIndex: bigint;
  readonly pipelines: readonly PlannedPipeline[];
  /** Day of its init, on whose caps its amounts count while it waits. */
  readonly day: UtcDay;
  readonly initResult: InitResult | null;
  readonly executeResult: ExecuteResult | null;
  /** Rent that its accounts take on chain while it is not closed. */
  readonly setupRentLamports: bigint;
  /** Engine instance that executes it now, and until when that is believed. */
  readonly instance: string | null;
  readonly leaseUntilMs: number;
  readonly cost: BatchCost;
  readonly dateCreated: string;
  readonly dateUpdated: string;
  /** When it was cancelled, or `null`. */
  readonly dateCancelled: string | null;
  /** When nothing of it was left on chain, or `null`. */
  readonly dateClosed: string | null;
}

/** What the owner is asked to sign about a batch. */
export type VoteKind = 'approve' | 'reject' | 'cancel';

/** A vote that was handed out for the owner to sign; the operator pays and has signed. */
export interface IssuedVote {
  readonly batchId: string;
  readonly kind: VoteKind;
  /** Wire bytes; the owner's signature is missing. */
  readonly transaction: Uint8Array;
  /** The operator's signature, base58: the name of the transaction on chain. */
  readonly signature: string;
  readonly lastValidBlockHeight: bigint;
  readonly dateCreated: string;
}

export type BundlePhase = 'SETUP' | 'OWNER_APPROVAL' | 'OPERATOR_APPROVAL' | 'EXECUTE' | 'CANCEL' | 'CLOSE';
export type BundleStatus = 'PENDING' | 'LANDED' | 'FAILED' | 'EXPIRED';

export interface BundleTransaction {
  readonly signature: string;
  /** Signed wire bytes. */
  readonly bytes: Uint8Array;
}

/** One step of a batch: 1 to 4 transactions that land together. */
export interface BundleRecord {
  readonly id: string;
  readonly batchId: string;
  readonly phase: BundlePhase;
  /** Index of its first transaction within its phase, from 0. */
  readonly first: number;
  /** SHA-256 over the comma-joined signatures. */
  readonly bundleId: Sha256;
  readonly transactions: readonly BundleTransaction[];
  readonly lastValidBlockHeight: bigint;
  readonly status: BundleStatus;
  readonly errorMessage: string | null;
  /** Within the bundle, from 0. */
  readonly failedTransaction: number | null;
}

/** A transaction that has moved something of a project and of which the store has no other record. */
export interface LostTransaction {
  readonly signature: string;
  /** Base units. */
  readonly burned: bigint;
  readonly airdropped: bigint;
  /** The memos that it names itself. */
  readonly memo: string | null;
  /** ISO text; `null` where no node says. */
  readonly dateLanded: string | null;
}

/** What the chain knows of a project and the store does not. */
export interface GapRecord {
  readonly id: string;
  readonly tokenId: string;
  readonly status: 'OPEN' | 'ACCEPTED';
  /** Transactions that burned something. */
  readonly burns: number;
  /** Base units. */
  readonly burned: bigint;
  readonly airdropped: bigint;
  readonly transactions: number;
  /** The oldest and the newest. */
  readonly firstSignature: string;
  readonly lastSignature: string;
  readonly dateFound: string;
  readonly dateAccepted: string | null;
}
