/** One request and one answer of each operation. */
import type { OperationId } from '../../src/contract/operations.js';

const BATCH_ID = '5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11';
const HASH = 'b7f943845357ffafd382804e7addbb1b54731b404ff26afec243f4a74fde4256';
const TX_HASH = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
const SET_UP_TX_HASH =
  '5VQ8f2vt4upsPUs3N61fnvxxwxW6a4T2drTf9F1uTbJJYU6z8sr1Zsw2k8AWgNey9RheLzRu7kKaNdQRvspgFunj';
const PROOF = { orderId: 'A-1001', total: 49.9 };

const BURN = { type: 'PRODUCT_BUY', proof: PROOF, burnAmount: 12.5, persistOnchain: true };

const DATE = '2026-01-31T12:00:00.000Z';
const BURN_RESULT = { result: 'SUCCESS', hash: HASH, txHash: TX_HASH, type: 'PRODUCT_BUY', dateBurned: DATE };

const BUNDLE = { bundleId: HASH, txHashes: [TX_HASH] };

const BATCH = {
  id: BATCH_ID,
  flywheelId: '0b7f7a52-5d56-4a39-8d36-0a1a3c1c7a10',
  tokenId: 'c4b1c9a0-6f5e-4d1e-8a55-1d0f4a5b7c11',
  mintAddress: 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF',
  ...{ status: 'FINALIZED', batchIndex: '1', vaultIndex: '0' },
  multisig: 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf',
  vaultAddress: '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU',
  initResult: {
    ...{ total: 2, totalSuccessful: 2, totalFailed: 0 },
    successfulExecutions: [{ bundleId: HASH, txHashes: [SET_UP_TX_HASH, TX_HASH] }],
    batchIndex: 1,
  },
  dateCreated: DATE,
  dateUpdated: '2026-01-31T12:00:02.000Z',
};

const PIPELINE = {
  type: 'PRODUCT_BUY',
  payload: JSON.stringify(PROOF),
  actions: [
    { action: 'BURN', amount: 10 },
    { action: 'AIRDROP', toAddress: 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF', amount: 2.5 },
  ],
};

const APPROVAL = {
  proposalApproveTx: 'AgAAAAAAAAAA',
  batch: { ...BATCH, pipelines: [{ ...PIPELINE, proofHash: HASH, instructions: ['AQABAgME'] }] },
};

const REPORT_SUMS = {
  ...{ burned: '1250.5', airdropped: '20', burns: 12, failedBurns: 1, pipelines: 3, failedPipelines: 0 },
  ...{ burnWalletLamports: '10000', operatorLamports: '65000' },
  ...{ vaultLamports: '2039280', costLamports: '2114280' },
};

export const EXAMPLES: Readonly<
  Record<OperationId, { readonly request?: object; readonly response: unknown }>
> = {
  burn: { request: BURN, response: BURN_RESULT },
  burnBatch: {
    request: [BURN, { ...BURN, type: 'UNKNOWN' }],
    response: {
      success: [BURN_RESULT],
      errors: [
        {
          message: 'The proof type "UNKNOWN" is unknown.',
          type: 'ERR_INVALID_PROOF',
          proof: PROOF,
          proofType: 'UNKNOWN',
        },
      ],
    },
  },
  report: {
    response: {
      ...{ symbol: 'FLY', mintAddress: BATCH.mintAddress, decimals: 6, supply: '998749.5' },
      ...{ since: '2026-01-01T00:00:00.000Z', until: null, pendingBurns: 0, chargesTransferFee: false },
      rows: [{ period: '2026-01-31', type: null, ...REPORT_SUMS }],
      total: REPORT_SUMS,
    },
  },
  listBurns: {
    response: {
      items: [
        {
          ...{ hash: HASH, txHash: TX_HASH, type: BURN_RESULT.type, amount: '12.5' },
          ...{ persistOnchain: true, status: 'SUCCESS' },
          ...{ dateCreated: DATE, dateBurned: DATE },
        },
      ],
      nextCursor: null,
    },
  },
  history: {
    response: {
      items: [
        {
          ...{ action: 'AIRDROP', date: DATE, amount: '2.5' },
          toAddress: 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF',
          ...{ type: 'PRODUCT_BUY', hash: HASH, txHash: TX_HASH, batchId: BATCH_ID },
        },
        {
          ...{ action: 'BURN', date: DATE, amount: '12.5' },
          ...{ type: 'PRODUCT_BUY', hash: HASH, txHash: TX_HASH },
        },
      ],
      nextCursor: null,
    },
  },
  describeKey: {
    response: {
      ...{ id: '6f1c7a52-5d56-4a39-8d36-0a1a3c1c7a11', name: 'shop server' },
      ...{ scopes: ['burn', 'airdrop'], proofTypes: null },
      ...{ tokenId: BATCH.tokenId, symbol: 'FLY', mintAddress: BATCH.mintAddress },
      ...{ multisig: BATCH.multisig, decimals: 6 },
    },
  },
  currentBatch: { response: BATCH },
  getBatch: { response: BATCH },
  initBatch: { request: { pipelines: [PIPELINE] }, response: APPROVAL },
  listBatches: {
    response: {
      items: [{ ...BATCH, totals: { pipelines: 1, burn: '10', airdrop: '2.5', recipients: 1 } }],
      nextCursor: null,
    },
  },
  batchPipelines: {
    response: {
      items: [{ index: 0, ...PIPELINE, proofHash: HASH, state: 'WAITING' }],
      nextCursor: null,
    },
  },
  issueApproval: { request: {}, response: APPROVAL },
  cancelBatch: {
    request: { signedTx: 'AgAAAAAAAAAA' },
    response: { ownerVoteNeeded: true, cancelTx: 'AgAAAAAAAAAA' },
  },
  executeBatch: {
    request: { batchId: BATCH_ID, signedTx: 'AgAAAAAAAAAA' },
    response: {
      batchId: BATCH_ID,
      result: { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [BUNDLE] },
    },
  },
};
