/** The engine on a cluster with slots of 400 ms and confirmation after two, in multiples of its slots, beside a sender that does nothing else. */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Connection } from '@solana/web3.js';
import type { Chain } from '../../src/chain/chain.js';
import { nodeAddress } from '../../src/chain/node-address.js';
import type { RpcNode as NodeReached } from '../../src/chain/rpc/ask.js';
import { createRpcChain } from '../../src/chain/rpc/cluster-chain.js';
import { setComputeUnitLimit, transfer } from '../../src/chain/small-programs.js';
import { compileLegacyMessage } from '../../src/chain/transaction/wire.js';
import { createTransport } from '../../src/client/transport.js';
import type { InitBatchRequest } from '../../src/contract/schemas/batch.js';
import { signBurns } from '../../src/engine/burns/burn-transaction.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { type Address, address } from '../../src/values/address.js';
import { sha256 } from '../../src/values/digest.js';
import { systemClock } from '../../src/values/time.js';
import type { Uuid } from '../../src/values/uuid.js';
import { openTestEngine, signApproval, type TestEngine } from '../support/engine.js';
import { startTestNode } from '../support/local-rpc.js';
import { signTransaction } from '../support/sign.js';
import { type BenchRatio, median } from './ratio.js';

const SLOT_MS = 400;
const CONFIRMED_AFTER = 2;
const BURNS = 1_000;
const PIPELINES = 100;
/** Burns of the bare sender on their way at a time, as many as the engine has. */
const WINDOW = 256;
const BARE_SENDS = 12;
const BARE_POLL_MS = 50;

/** The engine on a cluster, and what it asks of its node. */
interface OnCluster {
  readonly test: TestEngine;
  readonly engine: Engine;
  readonly chain: Chain;
  readonly url: string;
  /** Requests so far. */
  requests(): number;
  /** Transactions that were sent so far, each once. */
  sends(): number;
  close(): Promise<void>;
}

/** A node that is reached as the command line reaches it, with its requests counted, those on its channel too. */
function counted(url: string) {
  const target = new URL(url);
  const transport = createTransport(target, { requestTimeoutMs: 10_000, proxy: {} });
  const headers = { 'content-type': 'application/json' };
  const sent = new Set<string>();
  let requests = 0;
  const node: NodeReached = {
    address: nodeAddress(url, 'the measurement'),
    post: (body, terms) => {
      requests += 1;
      const { method, params } = JSON.parse(body) as { method: string; params: readonly unknown[] };
      if (method === 'sendTransaction') sent.add(String(params[0]));
      const request = { method: 'POST', url: target, headers, body } as const;
      return transport.exchange(request, terms);
    },
  };
  return { node, requests: () => requests, sends: () => sent.size, close: () => transport.close() };
}

async function openCluster(): Promise<OnCluster> {
  const test = await openTestEngine();
  const node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true, pace: 'clock' },
    ...{ slotMs: SLOT_MS, confirmedAfter: CONFIRMED_AFTER, finalizedAfter: 32 },
  });
  const { node: reached, ...count } = counted(node.url);
  const { chain } = createRpcChain({
    nodes: [reached],
    ...{ timeoutMs: 10_000, maxWaitMs: 10_000, clock: systemClock, random: Math.random },
    sleep: (ms) => setTimeout(ms),
  });
  const engine = createEngine({ ...test.deps, chain });
  const operator = address(test.project.registration.operator);
  while ((await chain.getAccounts([operator]))[0] === null) await setTimeout(BARE_POLL_MS);
  return {
    ...{ test, engine, chain, url: node.url },
    ...{ requests: count.requests, sends: count.sends },
    async close() {
      await chain.close();
      await count.close();
      await node.close(100);
      await test.destroy();
    },
  };
}

const burnOf = (index: number) => ({
  type: 'PRODUCT_BUY',
  proof: { index },
  burnAmount: 0.000001,
  persistOnchain: false,
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function benchOneBurn({ engine, test }: OnCluster): Promise<BenchRatio> {
  const times: number[] = [];
  for (let run = 0; run < 5; run += 1)
    times.push(await timed(() => engine.burn(burnOf(-1 - run), test.project.call())));
  const name = 'cluster: one burn, in slots; two confirmations are four';
  return { name, ratio: median(times) / SLOT_MS, target: 2 * CONFIRMED_AFTER, unit: 'slots' };
}

async function benchBurnBatch(on: OnCluster): Promise<readonly BenchRatio[]> {
  const { engine, test } = on;
  const elements = Array.from({ length: BURNS }, (_, index) => burnOf(index));
  const before = on.requests();
  const ms = await timed(async () => {
    const call = test.project.call({ idempotencyKey: randomUUID() });
    const { value } = await engine.burnBatch(elements, call);
    if (value.success.length !== BURNS) throw new Error('A burn of the measurement failed.');
  });
  const requests = (on.requests() - before) / BURNS;
  const bareMs = await bareBurns(on);
  return [
    {
      name: `cluster: burn-batch of ${BURNS}, in slots; 15 s are 37.5`,
      ratio: ms / SLOT_MS,
      target: 15_000 / SLOT_MS,
      unit: 'slots',
    },
    { name: `cluster: burn-batch of ${BURNS} : the bare sender`, ratio: ms / bareMs, target: 2 },
    { name: `cluster: burn-batch of ${BURNS}, requests an element`, ratio: requests, target: 2 },
  ];
}

/** Waits until all of them are confirmed. */
async function confirmed(connection: Connection, signatures: readonly string[]): Promise<void> {
  for (;;) {
    const { value } = await connection.getSignatureStatuses([...signatures]);
    if (value.some((status) => status?.err != null)) throw new Error('A bare transaction failed.');
    if (value.every((status) => status?.confirmationStatus === 'confirmed')) return;
    await setTimeout(BARE_POLL_MS);
  }
}

/** As many burns, signed before, sent by web3.js in windows of the same size. */
async function bareBurns({ test, chain, url }: OnCluster): Promise<number> {
  const [token] = await test.store.read((tx) => tx.tokens.list());
  if (token === undefined) throw new Error('There is no token to burn.');
  const wallet = test.deps.keyring.get(token.burnWallet);
  const proofHash = sha256('bare');
  const terms = Array.from({ length: BURNS }, (_, index) => ({
    ...{ index, sequence: BURNS * 10 + index, amount: 1n, proofType: 'PRODUCT_BUY', proofHash },
    persistOnchain: false,
  }));
  const signed = await signBurns(token, wallet, terms, await chain.latestBlockhash());
  const connection = new Connection(url, 'confirmed');
  return timed(async () => {
    for (let from = 0; from < BURNS; from += WINDOW) {
      const window = signed.slice(from, from + WINDOW);
      await Promise.all(
        window.map(({ transaction }) =>
          connection.sendRawTransaction(transaction, { skipPreflight: true, maxRetries: 0 }),
        ),
      );
      await confirmed(
        connection,
        window.map(({ signature }) => signature),
      );
    }
  });
}

const pipelines = (owner: string): InitBatchRequest => ({
  pipelines: Array.from({ length: PIPELINES }, (_, index) => ({
    type: 'WATCH_AD',
    payload: JSON.stringify({ index }),
    actions: [
      { action: 'BURN' as const, amount: 2 },
      { action: 'AIRDROP' as const, toAddress: owner as Address, amount: 0.5 },
    ],
  })),
});

async function benchBatch(on: OnCluster): Promise<readonly BenchRatio[]> {
  const { engine, test } = on;
  const { owner, ...project } = test.project;
  const before = on.sends();
  const ms = await timed(async () => {
    const { value: init } = await engine.initBatch(pipelines(owner.address), project.call());
    const batchId = init.batch.id as Uuid;
    const signedTx = signApproval(owner, init);
    const { value } = await engine.executeBatch({ batchId, signedTx }, project.call());
    if (value.result.totalSuccessful !== PIPELINES) throw new Error('The batch of the measurement failed.');
  });
  const sends = on.sends() - before;
  const bareMs = await bareSend(on);
  const name = `cluster: batch of ${PIPELINES} pipelines in ${sends} ordered sends`;
  return [
    {
      name: `${name} : two slots for each`,
      ratio: ms / (sends * CONFIRMED_AFTER * SLOT_MS),
      target: 1.2,
    },
    { name: `${name}, each : one of the bare sender`, ratio: ms / sends / bareMs, target: 1.2 },
  ];
}

/** One transaction after the other, each sent when the one before is confirmed: the time of one. */
async function bareSend({ test, chain, url }: OnCluster): Promise<number> {
  const operator = test.deps.keyring.get(test.project.registration.operator as Address);
  const connection = new Connection(url, 'confirmed');
  const { blockhash } = await chain.latestBlockhash();
  const signed = Array.from({ length: BARE_SENDS }, (_, index) => {
    const pay = transfer({ from: operator.address, to: operator.address, lamports: 1n });
    const instructions = [setComputeUnitLimit(10_000 + index), pay];
    return signTransaction(compileLegacyMessage({ payer: operator.address, instructions, blockhash }), [
      operator,
    ]);
  });
  const ms = await timed(async () => {
    for (const { bytes, signature } of signed) {
      await connection.sendRawTransaction(bytes, { skipPreflight: true, maxRetries: 0 });
      await confirmed(connection, [signature]);
    }
  });
  return ms / BARE_SENDS;
}

export async function benchCluster(): Promise<BenchRatio[]> {
  const on = await openCluster();
  try {
    return [await benchOneBurn(on), ...(await benchBurnBatch(on)), ...(await benchBatch(on))];
  } finally {
    await on.close();
  }
}
