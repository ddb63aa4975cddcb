import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { readBatch } from '../../../../src/approval/read-batch.js';
import { RENT_EPOCH_EXEMPT } from '../../../../src/chain/account.js';
import { memo } from '../../../../src/chain/memo.js';
import { SYSTEM_PROGRAM } from '../../../../src/chain/programs.js';
import { readTransactionError } from '../../../../src/chain/rpc/transaction-error.js';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/signer.js';
import {
  compileLegacyMessage,
  compileV0Message,
  decodeTransaction,
} from '../../../../src/chain/transaction/wire.js';
import { type ReadonlyBytes, readBuffer } from '../../../../src/values/bytes.js';
import { accountsOf, batchIndex, batchState, multisig } from '../../../support/batch-on-chain.js';
import { namedAddress } from '../../../support/oracle.js';
import { rpcChain } from '../../../support/rpc-chain.js';
import { partiallySign, signTransaction } from '../../../support/sign.js';

type Params = readonly unknown[];
/** What the node answers to a method: a result from its parameters. */
type Methods = Readonly<Record<string, (...params: Params) => unknown>>;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    servers.push(server);
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-key`),
    );
  });

/** A node on loopback that knows only the given methods and keeps what it was asked. */
async function node(methods: Methods) {
  const calls: { method: string; params: Params }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { id, method, params } = JSON.parse(Buffer.concat(parts).toString());
      calls.push({ method, params });
      const answer = methods[method];
      const body =
        answer === undefined
          ? { error: { code: -32601, message: 'Method not found' } }
          : { result: answer(...params) };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
    });
  });
  const url = await listen(server);
  return { calls, url, reader: rpcChain([url]).reader };
}

const inContext = (value: unknown, slot = 9) => ({ context: { slot }, value });
const wireAccount = (data: ReadonlyBytes, owner: string, lamports: number) => ({
  lamports,
  owner,
  data: [readBuffer(data).toString('base64'), 'base64'],
  executable: false,
  rentEpoch: 2 ** 64,
  space: data.length,
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
    const past = await reader.history(namedAddress('mint'), { sinceMs: 3_000_000 });
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
      getMultipleAccounts: (keys) =>
        inContext(
          (keys as string[]).map((key) => wireAccount(Buffer.from(key), SYSTEM_PROGRAM, 5)),
          slot++,
        ),
    });
    const states = await reader.getAccounts(addresses);
    expect(states.map((state) => Buffer.from(state?.data ?? []).toString())).toEqual(addresses);
    expect(calls.map(({ params }) => (params[0] as string[]).length)).toEqual([100, 100, 30]);
    expect(calls.map(({ params }) => params[1])).toEqual([
      { encoding: 'base64', commitment: 'confirmed' },
      { encoding: 'base64', commitment: 'confirmed', minContextSlot: 100 },
      { encoding: 'base64', commitment: 'confirmed', minContextSlot: 101 },
    ]);
  });

  it('reads an account whole, and null where there is none', async () => {
    const owner = namedAddress('owner program');
    const { reader } = await node({
      getMultipleAccounts: () => inContext([null, wireAccount(Uint8Array.of(1, 2), owner, 2_039_280)]),
    });
    const [none, some] = await reader.getAccounts([namedAddress('a'), namedAddress('b')]);
    expect(none).toBeNull();
    expect({ ...some, data: Array.from(some?.data ?? []) }).toEqual({
      lamports: 2_039_280n,
      owner,
      data: [1, 2],
      executable: false,
      rentEpoch: RENT_EPOCH_EXEMPT,
    });
  });

  it('lets a batch be read over it', async () => {
    const accounts = new Map<string, ReturnType<typeof wireAccount>>(
      [...accountsOf(batchState())].map(([at, { data, owner }]) => [at, wireAccount(data, owner, 1)]),
    );
    const { reader, calls } = await node({
      getMultipleAccounts: (keys) => inContext((keys as string[]).map((key) => accounts.get(key) ?? null)),
    });
    const { transactions } = await readBatch(reader, { multisig, batchIndex });
    expect(transactions).toHaveLength(3);
    expect(calls).toHaveLength(2);
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
  reader: ReturnType<typeof rpcChain>['reader'],
  signature: string,
): Promise<Uint8Array | null | undefined> => (await reader.lookUp([signature]))[0]?.wire;

describe('the bytes of a transaction', () => {
  it.each([
    ['legacy', compileLegacyMessage],
    ['version 0', compileV0Message],
  ] as const)('gives the wire bytes back (%s)', async (_name, compile) => {
    const message = compile({
      payer: signer.address,
      instructions: [memo('hi', [signer.address])],
      blockhash,
    });
    const { bytes, signature } = signTransaction(message, [signer]);
    const { reader } = await node({
      ...landed,
      getTransaction: (asked) => (asked === signature ? foundTransaction(bytes) : null),
    });
    expect(Buffer.from((await wireIn(reader, signature)) ?? [])).toEqual(Buffer.from(bytes));
    expect(await wireIn(reader, 'unknown')).toBeNull();
  });

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
      getSignatureStatuses: (asked) => inContext((asked as string[]).map((one) => statuses[one] ?? null)),
      getTransaction: (asked) => (asked === signature ? foundTransaction(bytes) : null),
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

describe('readTransactionError', () => {
  it('understands every form of the cluster and drops none', () => {
    expect(readTransactionError(null)).toBeNull();
    expect(readTransactionError('BlockhashNotFound')).toEqual({
      kind: 'transaction',
      error: 'BlockhashNotFound',
    });
    expect(readTransactionError({ InstructionError: [0, 'PrivilegeEscalation'] })).toEqual({
      kind: 'instruction',
      index: 0,
      error: 'PrivilegeEscalation',
    });
    expect(readTransactionError({ InstructionError: [1, { BorshIoError: 'x' }] })).toEqual({
      kind: 'instruction',
      index: 1,
      error: 'BorshIoError',
    });
    expect(readTransactionError({ InsufficientFundsForRent: { account_index: 3 } })).toEqual({
      kind: 'transaction',
      error: 'InsufficientFundsForRent',
      accountIndex: 3,
    });
    expect(readTransactionError({ DuplicateInstruction: 4 })).toEqual({
      kind: 'transaction',
      error: 'DuplicateInstruction',
    });
    expect(readTransactionError({ InstructionError: 'odd' })).toEqual({
      kind: 'transaction',
      error: '{"InstructionError":"odd"}',
    });
    expect(readTransactionError([1])).toEqual({ kind: 'transaction', error: '[1]' });
  });
});
