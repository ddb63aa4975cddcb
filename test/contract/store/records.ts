/** Example records, and those to which every other refers. */
import type {
  ApiKeyRecord,
  BatchRecord,
  BundleRecord,
  BurnIntent,
  BurnOutcome,
  BurnRecord,
  IssuedVote,
  ProjectRecord,
  RequestRecord,
  TransactionCost,
} from '../../../src/store/records.js';
import { whole } from '../../../src/store/schema.js';
import type { Store } from '../../../src/store/store.js';
import type { Address } from '../../../src/values/address.js';
import { sha256 } from '../../../src/values/digest.js';
import type { UtcDay } from '../../../src/values/time.js';

export const numbersOf = async (store: Store, count: number): Promise<readonly number[]> =>
  (await store.reserve('token-1', count)).sequences;

export const DAY = '2026-01-31' as UtcDay;
export const CREATED = '2026-01-31T12:00:00.000Z';
export const LATER = '2026-01-31T12:00:05.000Z';

export const aProject = (more: Partial<ProjectRecord> = {}): ProjectRecord => ({
  ...whole('projects', {
    id: 'token-1',
    flywheelId: 'flywheel-1',
    tokenName: 'Flywheel',
    symbol: 'FLY',
    mintAddress: 'Mint1' as Address,
    decimals: 6,
    tokenProgram: 'token',
    generation: 'v1',
    supply: 18_446_744_073_709_551_615n,
    burnWallet: 'BurnWallet1' as Address,
    burnTokenAccount: 'BurnAccount1' as Address,
    multisig: 'Multisig1' as Address,
    vaultIndex: 0,
    vault: 'Vault1' as Address,
    vaultTokenAccount: 'VaultAccount1' as Address,
    owner: 'Owner1' as Address,
    operator: 'Operator1' as Address,
    proofTypes: ['PRODUCT_BUY', 'WATCH_AD'],
    dailyBurnCap: 1_000_000n,
    dateCreated: CREATED,
  }),
  ...more,
});

export const anotherProject = (more: Partial<ProjectRecord> = {}): ProjectRecord =>
  aProject({
    ...{ id: 'token-2', flywheelId: 'flywheel-2', mintAddress: 'Mint2' as Address },
    ...{ multisig: 'Multisig2' as Address, ...more },
  });

export const anApiKey = (more: Partial<ApiKeyRecord> = {}): ApiKeyRecord => ({
  ...whole('apiKeys', {
    id: 'key-1',
    tokenId: 'token-1',
    hash: sha256('key-1'),
    scopes: ['burn', 'airdrop'],
    dateCreated: CREATED,
  }),
  ...more,
});

export const aRequest = (more: Partial<RequestRecord> = {}): RequestRecord => ({
  ...whole('requests', {
    id: 'request-1',
    tokenId: 'token-1',
    keyId: 'key-1',
    operation: 'burn',
    value: 'idempotency-1',
    fingerprint: sha256('body'),
    status: 'running',
    holder: 'holder-1',
    leaseUntilMs: 1_769_860_860_000,
    dateCreated: CREATED,
  }),
  ...more,
});

export const aBurn = (sequence: number, more: Partial<BurnIntent> = {}): BurnIntent => ({
  sequence,
  requestId: 'request-1',
  index: sequence - 1,
  tokenId: 'token-1',
  keyId: 'key-1',
  proofType: 'PRODUCT_BUY',
  proofHash: sha256(`proof ${sequence}`),
  amount: 1_500_000n,
  persistOnchain: true,
  day: DAY,
  signature: `signature ${sequence}`,
  transaction: new Uint8Array([sequence % 256, 0, 255]),
  lastValidBlockHeight: 150n,
  dateCreated: CREATED,
  ...more,
});

export const aBatch = (more: Partial<BatchRecord> = {}): BatchRecord => ({
  ...whole('batches', {
    id: 'batch-1',
    tokenId: 'token-1',
    keyId: 'key-1',
    requestId: 'request-1',
    status: 'AVAILABLE_TO_QUEUE',
    batchIndex: 1n,
    pipelines: [
      {
        type: 'PRODUCT_BUY',
        payload: '{"order":1}',
        actions: [{ action: 'BURN', amount: 1.5 }],
        proofHash: sha256('{"order":1}'),
        message: 'AQID',
        burn: 18_446_744_073_709_551_615n,
        airdrop: 0n,
      },
    ],
    ...{ pipelineCount: 1, burn: 18_446_744_073_709_551_615n, airdrop: 0n, recipients: 0 },
    setupRentLamports: 7_000n,
    leaseUntilMs: 0,
    dateCreated: CREATED,
    dateUpdated: CREATED,
  }),
  ...more,
});

export const aBundle = (id: string, more: Partial<BundleRecord> = {}): BundleRecord => ({
  batchId: 'batch-1',
  phase: 'SETUP',
  first: 0,
  bundleId: sha256(id),
  transactions: [
    { signature: `${id}/0`, bytes: new Uint8Array([1, 2, 3]) },
    { signature: `${id}/1`, bytes: new Uint8Array([4]) },
  ],
  lastValidBlockHeight: 300n,
  status: 'PENDING',
  errorMessage: null,
  failedTransaction: null,
  ...more,
});

/** A project, a key and a running request, to which every other record refers. */
export async function register(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.projects.insert(aProject());
    await tx.apiKeys.insert(anApiKey());
    await tx.requests.insert(aRequest());
  });
}

export const RESULT = { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [] };

export const INIT_RESULT = { ...RESULT, batchIndex: 7 };

export const aVote = (signature: string, more: Partial<IssuedVote> = {}): IssuedVote => ({
  batchId: 'batch-1',
  kind: 'approve',
  transaction: new Uint8Array([1, 2, 3]),
  signature,
  lastValidBlockHeight: 150n,
  dateCreated: CREATED,
  ...more,
});

/** The cost of a transaction that opened a token account. */
export const aCost = (signature: string, more: Partial<TransactionCost> = {}): TransactionCost => ({
  ...{ signature, operatorLamports: 5_000, vaultLamports: 2_039_280 },
  ...more,
});

export const success = (sequence: number, status: 'CONFIRMED' | 'FINAL' = 'FINAL'): BurnOutcome => ({
  feeLamports: 5_000n,
  sequence,
  status,
  errorCode: null,
  errorMessage: null,
  dateSettled: LATER,
});

export const settled = (sequence: number): BurnRecord => ({
  ...aBurn(sequence),
  transaction: null,
  status: 'FINAL',
  errorCode: null,
  errorMessage: null,
  dateSettled: LATER,
  feeLamports: 5_000n,
});

export const pending = (sequence: number): BurnRecord => ({
  ...aBurn(sequence),
  status: 'PENDING',
  errorCode: null,
  errorMessage: null,
  dateSettled: null,
  feeLamports: null,
});
