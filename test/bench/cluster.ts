/** Measures the engine on a cluster with slots of 400 ms and confirmation after two, in slots, against a bare sender. */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Connection } from '@solana/web3.js';
import type { RpcNode } from '../../src/chain/rpc/ask.js';
import { signBurns } from '../../src/engine/burns/chunk.js';
import { createEngine } from '../../src/engine/engine.js';
import { sha256 } from '../../src/values/digest.js';
import { openTestEngine } from '../support/engine.js';
import { openCluster } from '../test-cluster/open-cluster.js';
import { runBatch } from './batches.js';
import { type BenchRatio, medianOf } from './ratio.js';
import { burnOf, pipelinesOf, timed } from './work.js';

const SLOT_MS = 400;
const CONFIRMED_AFTER = 2;
const BURNS = 1_000;
const PIPELINES = 100;
/** Burns of the bare sender in progress at a time, as many as the engine has. */
const WINDOW = 256;
/** The same for engine and bare sender. */
const POLL_MS = 50;

/** Counts each sent transaction once. */
async function openOnCluster() {
  const test = await openTestEngine();
  const sent = new Set<string>();
  const counted = (node: RpcNode): RpcNode => ({
    ...node,
    post: (body, terms) => {
      const { method, params } = JSON.parse(body) as { method: string; params: readonly unknown[] };
      if (method === 'sendTransaction') sent.add(String(params[0]));
      return node.post(body, terms);
    },
  });
  const cluster = await openCluster(test, {
    ...{ pace: 'clock', slotMs: SLOT_MS, confirmedAfter: CONFIRMED_AFTER, finalizedAfter: 32, wrap: counted },
    more: async () => ({ pollMs: POLL_MS }),
  });
  const { chain, node } = cluster;
  const engine = createEngine({ ...test.deps, chain });
  return {
    ...{ test, engine, chain, url: node.url, sends: () => sent.size },
    close: async () => {
      await cluster.close();
      await test.destroy();
    },
  };
}

type OnCluster = Awaited<ReturnType<typeof openOnCluster>>;

async function benchOneBurn({ engine, test }: OnCluster): Promise<BenchRatio> {
  const burn = (run: number) => engine.burn(burnOf(-1 - run), test.project.call());
  const ms = await medianOf(5, (run) => timed(() => burn(run)));
  const name = 'cluster: one burn, in slots; two confirmations are four';
  return { name, ratio: ms / SLOT_MS, target: 2 * CONFIRMED_AFTER, unit: 'slots' };
}

async function benchBurnBatch(on: OnCluster): Promise<BenchRatio> {
  const { engine, test } = on;
  const elements = Array.from({ length: BURNS }, (_, index) => burnOf(index));
  const ms = await timed(async () => {
    const call = test.project.call({ idempotencyKey: randomUUID() });
    const { value } = await engine.burnBatch(elements, call);
    if (value.success.length !== BURNS) throw new Error('A burn of the measurement failed.');
  });
  const bareMs = await bareBurns(on);
  return { name: `cluster: burn-batch of ${BURNS} : the bare sender`, ratio: ms / bareMs, target: 1.2 };
}

async function confirmed(connection: Connection, signatures: readonly string[]): Promise<void> {
  for (;;) {
    const { value } = await connection.getSignatureStatuses([...signatures]);
    if (value.some((status) => status?.err != null)) throw new Error('A bare transaction failed.');
    if (value.every((status) => status?.confirmationStatus === 'confirmed')) return;
    await setTimeout(POLL_MS);
  }
}

/** As many presigned burns, sent by web3.js in windows of the same size. */
async function bareBurns({ test, chain, url }: OnCluster): Promise<number> {
  const [token] = await test.store.read((tx) => tx.projects.list());
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

async function benchBatch(on: OnCluster): Promise<BenchRatio> {
  const { engine, test } = on;
  const { project } = test;
  const before = on.sends();
  const pipelines = pipelinesOf(PIPELINES, project.owner.address, 'cluster');
  const ms = await timed(() => runBatch({ engine, project }, project.owner, pipelines));
  const sends = on.sends() - before;
  return {
    name: `cluster: batch of ${PIPELINES} pipelines in ${sends} ordered sends : two slots for each`,
    ratio: ms / (sends * CONFIRMED_AFTER * SLOT_MS),
    target: 1.2,
  };
}

export async function benchCluster(): Promise<BenchRatio[]> {
  const on = await openOnCluster();
  try {
    return [await benchOneBurn(on), await benchBurnBatch(on), await benchBatch(on)];
  } finally {
    await on.close();
  }
}
