/** A chain over nodes by URL; its clock advances only by the waits. */
import type { Commitment } from '../../src/chain/chain.js';
import { nodeAddress } from '../../src/chain/node-address.js';
import type { RpcNode } from '../../src/chain/rpc/ask.js';
import { ClusterChain } from '../../src/chain/rpc/cluster-chain.js';
import type { NodePoolOptions } from '../../src/chain/rpc/node-pool.js';
import { type ChainSender, createSender } from '../../src/chain/send.js';
import { createTransport } from '../../src/transport/transport.js';

interface TestRpcOptions {
  readonly quorum?: number;
  /** Timeout of one attempt, in real time. @default 5 s */
  readonly timeoutMs?: number;
  /** @default none: one round */
  readonly maxWaitMs?: number;
  readonly random?: () => number;
  readonly maxPriorityFeeLamports?: bigint;
  readonly commitment?: Commitment;
  readonly signal?: AbortSignal;
  readonly log?: (line: string) => void;
  /** Replaces the sleep that advances the clock. */
  readonly sleep?: NodePoolOptions['sleep'];
}

interface TestRpc {
  readonly chain: ClusterChain;
  readonly sender: ChainSender;
  readonly waits: readonly number[];
  readonly options: NodePoolOptions;
  nowMs(): number;
}

export function nodeAt(url: string): RpcNode {
  const address = nodeAddress(url, 'the test');
  const target = address.reveal();
  const headers = { 'content-type': 'application/json' };
  return {
    address,
    post: async (body, terms) => {
      const transport = createTransport(target, { requestTimeoutMs: 5_000, proxy: {} });
      const request = { method: 'POST', url: target, headers, body } as const;
      const outcome = await transport.exchange(request, terms);
      await transport.close();
      return outcome;
    },
  };
}

/** Waits take no real time; they advance the clock. */
export function rpcChain(
  urls: readonly string[],
  {
    quorum = 1,
    timeoutMs = 5_000,
    maxWaitMs = 0,
    random = () => 0.5,
    maxPriorityFeeLamports,
    commitment = 'confirmed',
    ...more
  }: TestRpcOptions = {},
): TestRpc {
  let nowMs = 1_000_000;
  const waits: number[] = [];
  const options: NodePoolOptions = {
    nodes: urls.map(nodeAt),
    timeoutMs,
    maxWaitMs,
    random,
    clock: { nowMs: () => nowMs },
    sleep: async (ms) => {
      waits.push(ms);
      nowMs += ms;
    },
    ...more,
  };
  const fees = maxPriorityFeeLamports === undefined ? {} : { maxPriorityFeeLamports };
  const chain = new ClusterChain({ ...options, quorum, commitment, ...fees });
  return {
    chain,
    sender: createSender(chain, options),
    waits,
    options,
    nowMs: () => nowMs,
  };
}
