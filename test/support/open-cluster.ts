/** A test cluster over the ledger of a test engine, whose slots go by when somebody asks for them: no test waits for a clock. */
import type { Chain } from '../../src/chain/chain.js';
import { nodeAddress } from '../../src/chain/node-address.js';
import type { RpcNode } from '../../src/chain/rpc/exchange.js';
import { createRpcChain } from '../../src/chain/rpc/rpc-chain.js';
import { createTransport } from '../../src/client/transport.js';
import { address } from '../../src/values/address.js';
import { systemClock } from '../../src/values/time.js';
import type { TestEngine } from './engine.js';
import { startTestNode } from './local-rpc.js';
import type { FaultRule } from './test-cluster/faults.js';

export interface TestCluster {
  readonly chain: Chain;
  /** Resolves once the cluster has an account that was made beside it. */
  seen(wallet: string): Promise<void>;
  /** Lets slots go by until all is final. */
  settle(): Promise<void>;
  /** Lets so many slots go by that every blockhash has expired. */
  expire(): Promise<void>;
  close(): Promise<void>;
}

/** What a caller asks again and again while a transaction is on its way. */
const POLLS = new Set(['getSignatureStatuses', 'getEpochInfo', 'getBlockHeight']);
const FINALIZED_AFTER = 4;
const EXPIRY_SLOTS = 160;

export async function openCluster(
  test: TestEngine,
  { faults = [], seed = 1 }: { readonly faults?: readonly FaultRule[]; readonly seed?: number } = {},
): Promise<TestCluster> {
  const node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true, pace: 'on-demand', seed },
    // Short ones, since nobody waits for them: the time of the newest must not run away from the clock.
    ...{ slotMs: 5, confirmedAfter: 1, finalizedAfter: FINALIZED_AFTER },
  });
  const at = nodeAddress(node.url, 'the test');
  const transport = createTransport(at.reveal(), { requestTimeoutMs: 5_000, proxy: {} });
  const advancing: RpcNode = {
    address: at,
    post: (body, terms) => {
      if (POLLS.has((JSON.parse(body) as { method: string }).method)) node.advance();
      const headers = { 'content-type': 'application/json' };
      const request = { method: 'POST', url: at.reveal(), headers, body } as const;
      return transport.exchange(request, { ...terms, era: transport.era });
    },
  };
  const { chain } = createRpcChain({
    nodes: [advancing],
    ...{ timeoutMs: 5_000, maxWaitMs: 20_000, pollMs: 1, clock: systemClock, random: Math.random },
    maxPriorityFeeLamports: 0n,
    sleep: async () => node.advance(),
  });
  const seen = async (wallet: string): Promise<void> => {
    do node.advance();
    while ((await chain.getAccounts([address(wallet)]))[0] === null);
  };
  await seen(test.project.registration.operator);
  node.faults.set(faults);
  return {
    chain,
    seen,
    settle: async () => node.settle(),
    expire: async () => node.advance(EXPIRY_SLOTS),
    close: async () => {
      await transport.close();
      await node.close(100);
      if (node.failures.length > 0) throw new AggregateError(node.failures, 'The node has failed.');
    },
  };
}
