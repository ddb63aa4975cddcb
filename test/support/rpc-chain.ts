/** A chain over nodes by URL; its clock advances only by the waits. */
import { nodeAddress } from '../../src/chain/node-address.js';
import type { RpcNode } from '../../src/chain/rpc/ask.js';
import { ClusterChain } from '../../src/chain/rpc/cluster-chain.js';
import { createSender } from '../../src/chain/send.js';
import { createTransport } from '../../src/transport/transport.js';

/** A node by URL over one transport, which stays open. */
export function keptNode(url: string): { readonly node: RpcNode; close(): Promise<void> } {
  const address = nodeAddress(url, 'the test');
  const target = address.reveal();
  const headers = { 'content-type': 'application/json' };
  const transport = createTransport(target, { requestTimeoutMs: 5_000, proxy: {} });
  const post: RpcNode['post'] = (body, terms) =>
    transport.exchange({ method: 'POST', url: target, headers, body }, terms);
  return { node: { address, post }, close: () => transport.close() };
}

export const nodeAt = (url: string): RpcNode => ({
  address: nodeAddress(url, 'the test'),
  post: async (body, terms) => {
    const { node, close } = keptNode(url);
    const outcome = await node.post(body, terms);
    await close();
    return outcome;
  },
});

/** By default one round of attempts, of 5 s each in real time; waits take no real time, but advance the clock. */
export function rpcChain(
  urls: readonly string[],
  more: Partial<ConstructorParameters<typeof ClusterChain>[0]> = {},
) {
  let nowMs = 1_000_000;
  const waits: number[] = [];
  const options = {
    nodes: urls.map(nodeAt),
    timeoutMs: 5_000,
    maxWaitMs: 0,
    random: () => 0.5,
    clock: { nowMs: () => nowMs },
    sleep: async (ms: number) => {
      waits.push(ms);
      nowMs += ms;
    },
    ...more,
  };
  const chain = new ClusterChain(options);
  return { chain, sender: createSender(chain, options), waits, options, nowMs: () => nowMs };
}
