/** A test cluster over the ledger of a test engine; its slots pass on demand, so no test waits for a clock. */
import { setTimeout } from 'node:timers/promises';
import type { Chain } from '../../src/chain/chain.js';
import type { RpcNode } from '../../src/chain/rpc/ask.js';
import { ClusterChain } from '../../src/chain/rpc/cluster-chain.js';
import { address } from '../../src/values/address.js';
import { type Clock, systemClock } from '../../src/values/time.js';
import type { TestEngine } from '../support/engine.js';
import { keptNode } from '../support/rpc-chain.js';
import type { FaultRule } from './faults.js';
import { startTestNode, type TestNode } from './node.js';

export interface ClusterTerms {
  /** Faults start once the engine has seen its project on the cluster. */
  readonly faults?: readonly FaultRule[];
  readonly seed?: number;
  /** Slots until a block is confirmed. @default 1 */
  readonly confirmedAfter?: number;
  /** Slots until a block is final. @default 4 */
  readonly finalizedAfter?: number;
  /** @default 50 with the clock; 2 on demand */
  readonly slotMs?: number;
  /** @default on-demand */
  readonly pace?: 'clock' | 'on-demand';
  readonly wrap?: (node: RpcNode) => RpcNode;
  readonly more?: (node: TestNode) => Promise<Partial<ConstructorParameters<typeof ClusterChain>[0]>>;
}

type Opened = Awaited<ReturnType<typeof openCluster>>;

export type TestCluster = Omit<Opened, 'chain' | 'node' | 'calls' | 'pass'> & { readonly chain: Chain };

/** Calls that repeat while a transaction is in progress. */
const POLLS = ['getSignatureStatuses', 'getEpochInfo', 'getBlockHeight'];
/** Slot duration that the engine assumes. */
const SLOT_MS = 400;
const EXPIRY_SLOTS = 160;
const CLOCK_TIMES = {
  ...{ pollMs: 20, random: Math.random, clock: systemClock },
  sleep: (ms: number) => setTimeout(ms),
};

/** Keep-alive access to a node. On demand, a slot passes with each poll and each wait. */
export function wayTo(testNode: TestNode, calls: string[] = [], pace: ClusterTerms['pace'] = 'on-demand') {
  const kept = keptNode(testNode.url);
  let aheadMs = 0;
  const goOn = (ms: number): void => {
    aheadMs += ms;
    testNode.advance();
  };
  const node: RpcNode = {
    ...kept.node,
    post: (body, terms) => {
      const { method } = JSON.parse(body) as { method: string };
      calls.push(method);
      if (pace === 'on-demand' && POLLS.includes(method)) goOn(SLOT_MS);
      return kept.node.post(body, terms);
    },
  };
  const clock: Clock = { nowMs: () => systemClock.nowMs() + aheadMs };
  const onDemand = { pollMs: 1, random: Math.random, clock, sleep: async (ms: number) => goOn(ms) };
  const times = pace === 'clock' ? CLOCK_TIMES : onDemand;
  const pass = (ms: number): void => {
    aheadMs += ms;
  };
  return { node, times, pass, close: kept.close };
}

export async function openCluster(
  test: TestEngine,
  { faults = [], seed = 1, pace = 'on-demand', ...terms }: ClusterTerms = {},
) {
  const { confirmedAfter = 1, finalizedAfter = 4, slotMs = pace === 'clock' ? 50 : 2 } = terms;
  const { wrap = (node) => node, more = async () => ({}) } = terms;
  const node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true, seed, pace },
    ...{ slotMs, confirmedAfter, finalizedAfter },
  });
  const calls: string[] = [];
  const way = wayTo(node, calls, pace);
  const chain = new ClusterChain({
    ...{ nodes: [wrap(way.node)], timeoutMs: 5_000, maxWaitMs: 20_000, ...way.times },
    ...(await more(node)),
  });
  /** Resolves once the cluster shows an account that was created on the ledger directly. */
  const seen = async (wallet: string): Promise<void> => {
    do node.advance();
    while ((await chain.getAccounts([address(wallet)]))[0] === null);
  };
  await seen(test.project.registration.operator);
  node.faults.set(faults);
  return {
    ...{ chain, node, calls, seen },
    /** Sets the clock forward, on demand only. */
    pass: way.pass,
    settle: async () => node.settle(),
    /** Until every blockhash has expired. */
    expire: async () => node.advance(EXPIRY_SLOTS),
    close: async (): Promise<void> => {
      await way.close();
      await node.close(100);
      if (node.failures.length > 0) throw new AggregateError(node.failures, 'The node has failed.');
    },
  };
}
