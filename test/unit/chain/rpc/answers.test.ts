import { afterEach, describe, expect, it } from 'vitest';
import { SYSTEM_PROGRAM } from '../../../../src/chain/programs.js';
import { readTransactionError } from '../../../../src/chain/rpc/schemas.js';
import { memo } from '../../../../src/chain/small-programs.js';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/sign.js';
import {
  compileLegacyMessage,
  compileV0Message,
  decodeTransaction,
} from '../../../../src/chain/transaction/wire.js';
import { partiallySign, signTransaction } from '../../../support/chain.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import { closeStubs, inContext, type Methods, wireAccount, youngNode } from '../../../support/rpc-stub.js';

afterEach(closeStubs);

async function node(methods: Methods) {
  const { calls, url } = await youngNode(methods);
  return { calls, reader: rpcChain([url], { timeoutMs: 60_000 }).chain };
}

it('questions that are asked at once get their own answers', async () => {
  const hash = namedAddress('blockhash');
  const { reader } = await node({
    getLatestBlockhash: () => inContext({ blockhash: hash, lastValidBlockHeight: 7 }),
    isBlockhashValid: (blockhash: string) => inContext(blockhash === hash),
    getMultipleAccounts: ([of]: readonly string[]) =>
      inContext([wireAccount([], SYSTEM_PROGRAM, of === namedAddress('rich') ? 9 : 1)]),
  });
  const balance = async (name: string) => (await reader.getAccounts([namedAddress(name)]))[0]?.lamports;
  const rounds = Array.from({ length: 20 }, () =>
    Promise.all([
      ...[balance('rich'), balance('poor'), reader.isBlockhashValid(hash)],
      reader.isBlockhashValid(namedAddress('other')),
      reader.latestBlockhash(),
    ]),
  );
  for (const round of await Promise.all(rounds))
    expect(round).toEqual([9n, 1n, true, false, { blockhash: hash, lastValidBlockHeight: 7n }]);
});

describe('history', () => {
  it('gives what landed, page by page, none from before the time that was asked for', async () => {
    const info = (at: number, more: object = {}) => ({
      signature: `s${at}`,
      slot: 9_000 - at,
      err: null,
      memo: `[3] m${at}`,
      blockTime: 5_000 - at,
      confirmationStatus: 'confirmed',
      ...more,
    });
    const pages = [
      Array.from({ length: 1_000 }, (_, at) =>
        info(at, at === 1 ? { err: { InstructionError: [0, 'x'] } } : {}),
      ),
      [info(1_000), info(1_001, { memo: null }), info(1_002, { blockTime: null }), info(4_000)],
    ];
    const { reader, calls } = await node({ getSignaturesForAddress: () => pages.shift() });
    const past = await reader.history(namedAddress('mint'), { sinceMs: 3_000_000, withMemos: true });
    expect(past).toHaveLength(1_000 + 3);
    expect(past.slice(1, 3)).toMatchObject([
      { signature: 's1', failed: true },
      { signature: 's2', failed: false, memo: '[3] m2', blockTimeMs: 4_998_000 },
    ]);
    expect(past.at(-1)).toMatchObject({ signature: 's1002', memo: '[3] m1002', blockTimeMs: null });
    expect(calls.map(({ params }) => params[1])).toMatchObject([
      { limit: 1_000, commitment: 'confirmed' },
      { limit: 1_000, before: 's999' },
    ]);
  });
});

describe('getAccounts', () => {
  it('asks for 100 at a time, in order, each call no older than the one before', async () => {
    const addresses = Array.from({ length: 230 }, (_, n) => namedAddress(`account ${n}`));
    let slot = 100;
    const { reader, calls } = await node({
      getMultipleAccounts: (keys: readonly string[]) =>
        inContext(
          keys.map((key) => wireAccount(Buffer.from(key), SYSTEM_PROGRAM, 5)),
          slot++,
        ),
    });
    const states = await reader.getAccounts(addresses);
    expect(states.map((state) => Buffer.from(state?.data ?? []).toString())).toEqual(addresses);
    expect(calls.map(({ params }) => (params[0] as string[]).length)).toEqual([100, 100, 30]);
    expect(calls.map(({ params }) => params[1])).toEqual([
      { encoding: 'base64', commitment: 'confirmed', minContextSlot: 0 },
      { encoding: 'base64', commitment: 'confirmed', minContextSlot: 100 },
      { encoding: 'base64', commitment: 'confirmed', minContextSlot: 101 },
    ]);
  });
});

const signer = createKeypairSigner(generateKeypair());
const blockhash = namedAddress('blockhash');

/** A transaction as `getTransaction` returns it in base64. */
function foundTransaction(bytes: Uint8Array) {
  return {
    slot: 77,
    blockTime: 1_700_000_000,
    version: decodeTransaction(bytes).message.version,
    meta: {
      err: null,
      fee: 5_000,
      logMessages: ['a log'],
      computeUnitsConsumed: 321,
      preBalances: [],
      postBalances: [],
      innerInstructions: [],
    },
    transaction: [Buffer.from(bytes).toString('base64'), 'base64'],
  };
}

const landedStatus = { slot: 77, confirmations: null, err: null, confirmationStatus: 'finalized' };
const landed = { getSignatureStatuses: () => inContext([landedStatus]) };
const wireIn = async (
  reader: ReturnType<typeof rpcChain>['chain'],
  signature: string,
): Promise<Uint8Array | null | undefined> => (await reader.lookUp([signature]))[0]?.wire;

describe('the bytes of a transaction', () => {
  it('believes no transaction that one of its signers has not signed', async () => {
    const other = createKeypairSigner(generateKeypair());
    const message = compileV0Message({
      payer: signer.address,
      instructions: [memo('hi', [signer.address, other.address])],
      blockhash,
    });
    const { bytes, signature } = signTransaction(message, [signer, other]);
    const unsigned = partiallySign(message, [signer]);
    let wire = unsigned;
    const { reader } = await node({ ...landed, getTransaction: () => foundTransaction(wire) });
    await expect(wireIn(reader, signature)).rejects.toMatchObject({ code: 'ERR_RESPONSE_INVALID' });
    wire = bytes;
    expect(Buffer.from((await wireIn(reader, signature)) ?? [])).toEqual(Buffer.from(bytes));
  });
});

describe('lookUp', () => {
  it('tells landed, failed, still processed and unknown apart, in order', async () => {
    const message = compileLegacyMessage({ payer: signer.address, instructions: [], blockhash });
    const { bytes, signature } = signTransaction(message, [signer]);
    const status = (confirmationStatus: string, err: unknown = null) => ({
      slot: 77,
      confirmations: 1,
      err,
      confirmationStatus,
    });
    const statuses: Readonly<Record<string, unknown>> = {
      [signature]: status('finalized'),
      failed: status('confirmed', { InstructionError: [2, { Custom: 6008 }] }),
      processed: status('processed'),
    };
    const { reader, calls } = await node({
      getSignatureStatuses: (asked: readonly string[]) =>
        inContext(asked.map((one) => statuses[one] ?? null)),
      getTransaction: (asked: string) => (asked === signature ? foundTransaction(bytes) : null),
    });
    expect(await reader.lookUp(['unknown', signature, 'failed', 'processed'])).toEqual([
      null,
      {
        signature,
        wire: Buffer.from(bytes),
        slot: 77n,
        blockTimeMs: 1_700_000_000_000,
        error: null,
        logs: ['a log'],
        feeLamports: 5_000n,
        balances: [],
        computeUnits: 321n,
        innerCalls: [],
      },
      {
        signature: 'failed',
        wire: null,
        slot: 77n,
        blockTimeMs: 0,
        error: { kind: 'instruction', index: 2, custom: 6008 },
        logs: [],
        feeLamports: 0n,
        computeUnits: 0n,
      },
      null,
    ]);
    expect(calls[0]?.params[1]).toEqual({ searchTransactionHistory: true });
  });
});

const ofTransaction = (error: string, more = {}) => ({ kind: 'transaction', error, ...more });

it.each([
  [null, null],
  ['BlockhashNotFound', ofTransaction('BlockhashNotFound')],
  [
    { InstructionError: [0, 'PrivilegeEscalation'] },
    { kind: 'instruction', index: 0, error: 'PrivilegeEscalation' },
  ],
  [
    { InstructionError: [1, { BorshIoError: 'x' }] },
    { kind: 'instruction', index: 1, error: 'BorshIoError' },
  ],
  [
    { InsufficientFundsForRent: { account_index: 3 } },
    ofTransaction('InsufficientFundsForRent', { accountIndex: 3 }),
  ],
  [{ DuplicateInstruction: 4 }, ofTransaction('DuplicateInstruction')],
  [{ InstructionError: 'odd' }, ofTransaction('{"InstructionError":"odd"}')],
  [[1], ofTransaction('[1]')],
  ['x'.repeat(201), ofTransaction('x'.repeat(200))],
  [['x'.repeat(201)], ofTransaction(`["${'x'.repeat(198)}`)],
  [
    { InstructionError: [1, { ['x'.repeat(201)]: 1 }] },
    { kind: 'instruction', index: 1, error: 'x'.repeat(200) },
  ],
])('the error %j of a transaction is understood, or kept as it is', (err, error) => {
  expect(readTransactionError(err)).toEqual(error);
});
