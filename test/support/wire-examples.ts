/**
 * One request and one answer of each operation: the examples of the OpenAPI document, with the fields that it leaves out as optional,
 * and with values that differ where fields must not be mixed up.
 */
import { openApiDocument } from '../../src/contract/openapi.js';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.js';

type Json = ReturnType<typeof JSON.parse>;

const HASH = 'b7f943845357ffafd382804e7addbb1b54731b404ff26afec243f4a74fde4256';
const TX_HASH = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
const SET_UP_TX_HASH =
  '5VQ8f2vt4upsPUs3N61fnvxxwxW6a4T2drTf9F1uTbJJYU6z8sr1Zsw2k8AWgNey9RheLzRu7kKaNdQRvspgFunj';
const TO = 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF';
const FLYWHEEL = {
  tokenId: 'c4b1c9a0-6f5e-4d1e-8a55-1d0f4a5b7c11',
  multisig: 'SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf',
};
const BATCH = {
  ...FLYWHEEL,
  flywheelId: '0b7f7a52-5d56-4a39-8d36-0a1a3c1c7a10',
  vaultAddress: '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU',
  dateUpdated: '2026-01-31T12:00:02.000Z',
  initResult: {
    ...{ total: 2, totalSuccessful: 2, totalFailed: 0 },
    successfulExecutions: [{ bundleId: HASH, txHashes: [SET_UP_TX_HASH, TX_HASH] }],
    batchIndex: 1,
  },
};
const ACTIONS = [
  { action: 'BURN', amount: 10 },
  { action: 'AIRDROP', toAddress: TO, amount: 2.5 },
];

const filled = (example: unknown) =>
  example === undefined
    ? undefined
    : JSON.parse(JSON.stringify(example), (name, value) => {
        if (name === 'actions') return ACTIONS;
        return value?.batchIndex === undefined || value.status === undefined ? value : { ...value, ...BATCH };
      });

const { paths } = openApiDocument({ apiKeyHeader: 'x-service-api-key', version: '0.0.0' });
const exampleIn = (body: unknown) =>
  filled((body as { content: Record<string, Json> } | undefined)?.content['application/json']?.example);
const documented = Object.fromEntries(
  Object.values<Operation>(OPERATIONS).map(({ id, path, method }) => {
    const { requestBody, responses } = paths[path]?.[method.toLowerCase()] ?? {};
    return [id, { request: exampleIn(requestBody), response: exampleIn(responses?.['200']) }];
  }),
) as Record<OperationId, { request: Json; response: Json }>;

const { burn, describeKey, history } = documented;
const [item] = history.response.items;

export const EXAMPLES: Readonly<
  Record<OperationId, { readonly request?: object; readonly response: unknown }>
> = {
  ...documented,
  burnBatch: { ...documented.burnBatch, request: [burn.request, { ...burn.request, type: 'UNKNOWN' }] },
  history: {
    response: {
      items: [
        {
          ...item,
          action: 'AIRDROP',
          amount: '2.5',
          toAddress: TO,
          txHash: TX_HASH,
          batchId: documented.executeBatch.request.batchId,
        },
        { ...item, txHash: TX_HASH },
      ],
      nextCursor: null,
    },
  },
  describeKey: {
    response: {
      ...describeKey.response,
      ...FLYWHEEL,
      id: '6f1c7a52-5d56-4a39-8d36-0a1a3c1c7a11',
      scopes: ['burn', 'airdrop'],
    },
  },
  cancelBatch: {
    request: { signedTx: 'AgAAAAAAAAAA' },
    response: { ownerVoteNeeded: true, cancelTx: 'AgAAAAAAAAAA' },
  },
};
