/** The service as a caller reaches it, in process or over a socket, with what a test needs to look behind it. */

import { setTimeout } from 'node:timers/promises';
import { PublicKey, VersionedTransaction } from '@solana/web3.js';
import type { Chain } from '../../src/chain/chain.js';
import { nodeAddress } from '../../src/chain/node-address.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/chain/programs.js';
import type { RpcNode } from '../../src/chain/rpc/exchange.js';
import { createRpcChain, type RpcChainOptions } from '../../src/chain/rpc/rpc-chain.js';
import { associatedTokenAddress } from '../../src/chain/squads/addresses.js';
import { decodeMint, decodeTokenAccount } from '../../src/chain/tokens/accounts.js';
import type { KeypairSigner } from '../../src/chain/transaction/signer.js';
import { createTransport } from '../../src/client/transport.js';
import type { RegisterInput } from '../../src/contract/admin.js';
import type { Service } from '../../src/contract/service.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { type FlywheelError, isFlywheelError } from '../../src/errors/flywheel-error.js';
import type { HttpServerOptions } from '../../src/http/options.js';
import type { Store } from '../../src/store/store.js';
import { type Address, address } from '../../src/values/address.js';
import { type Clock, systemClock } from '../../src/values/time.js';
import { openTestEngine, type TestEngine, type TestProject } from './engine.js';
import { startServer } from './http.js';
import { startTestNode, type TestNode } from './local-rpc.js';
import type { FaultRule } from './test-cluster/faults.js';

export interface ServiceUnderTest {
  readonly service: Service;
  readonly test: TestEngine;
  /** Transactions that land together in a bundle at most. */
  readonly bundleSize: number;
  register(input?: Partial<RegisterInput>): Promise<TestProject>;
  dispose(): Promise<void>;
}

export type OpenService = () => Promise<ServiceUnderTest>;

/** The engine itself. */
export const openInProcess: OpenService = async () => {
  const test = await openTestEngine();
  return {
    service: test.engine,
    test,
    bundleSize: test.chain.bundleSize,
    register: (input) => test.register(input),
    dispose: () => test.destroy(),
  };
};

/** The HTTP server over an engine. */
export async function serveEngine(
  engine: Engine,
  options: HttpServerOptions,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = await startServer({ service: engine, authenticate: engine.authenticate }, options);
  return {
    url: server.url,
    async close() {
      await server.closeGracefully(5_000);
    },
  };
}

/** A node where others have paid this price for a compute unit of late. */
export const nodeWithPrice =
  (microLamports: number) =>
  (node: RpcNode): RpcNode => ({
    ...node,
    post: async (body, terms) => {
      const { id, method } = JSON.parse(body);
      if (method !== 'getRecentPrioritizationFees') return node.post(body, terms);
      const result = [{ slot: 1, prioritizationFee: microLamports }];
      const text = JSON.stringify({ jsonrpc: '2.0', id, result });
      return { kind: 'answer', status: 200, headers: {}, text };
    },
  });

/** What a caller asks again and again while a transaction is on its way. */
const POLLS = ['getSignatureStatuses', 'getEpochInfo', 'getBlockHeight'];
/** What a slot takes as far as the engine knows. */
const SLOT_MS = 400;
const CLOCK_TIMES = {
  ...{ pollMs: 20, random: Math.random, clock: systemClock },
  sleep: (ms: number) => setTimeout(ms),
};

/**
 * A way to a test node on demand, over sockets that stay open, and the method of every call. A slot goes by with each poll and
 * each wait, so that nothing waits for a clock.
 */
export function wayTo(testNode: TestNode, calls: string[] = [], pace: 'clock' | 'on-demand' = 'on-demand') {
  const target = nodeAddress(testNode.url, 'the test');
  const transport = createTransport(target.reveal(), { requestTimeoutMs: 5_000, proxy: {} });
  let aheadMs = 0;
  const goOn = (ms: number): void => {
    aheadMs += ms;
    testNode.advance();
  };
  const node: RpcNode = {
    address: target,
    post: (body, terms) => {
      const { method } = JSON.parse(body) as { method: string };
      calls.push(method);
      if (pace === 'on-demand' && POLLS.includes(method)) goOn(SLOT_MS);
      const headers = { 'content-type': 'application/json' };
      const request = { method: 'POST', url: target.reveal(), headers, body } as const;
      return transport.exchange(request, { ...terms, era: transport.era });
    },
  };
  const clock: Clock = { nowMs: () => systemClock.nowMs() + aheadMs };
  const times = { pollMs: 1, random: Math.random, clock, sleep: async (ms: number) => goOn(ms) };
  return { node, times, close: () => transport.close() };
}

/** The engine on a cluster: a test node over the ledger of its own directory, reached through RPC. */
export async function openOnCluster(
  faults: readonly FaultRule[] = [],
  seed = 1,
  wrap: (node: RpcNode) => RpcNode = (node) => node,
  finalizedAfter = 4,
  more: (node: TestNode, test: TestEngine) => Promise<Partial<RpcChainOptions>> = async () => ({}),
  store?: Store,
  pace: 'clock' | 'on-demand' = 'on-demand',
): Promise<
  ServiceUnderTest & {
    readonly node: TestNode;
    readonly engine: Engine;
    readonly chain: Chain;
    readonly calls: readonly string[];
  }
> {
  const test = await openTestEngine({}, store === undefined ? {} : { store });
  const node = await startTestNode({
    ...{ directory: test.dataDir, isDataDirectory: true, seed },
    // On demand short slots: as many as a test needs take less time than it does.
    ...{ pace, slotMs: pace === 'clock' ? 50 : 2, confirmedAfter: 1, finalizedAfter },
  });
  const calls: string[] = [];
  const way = wayTo(node, calls, pace);
  const { chain } = createRpcChain({
    ...{ nodes: [wrap(way.node)], timeoutMs: 5_000, maxWaitMs: 20_000 },
    ...(pace === 'clock' ? CLOCK_TIMES : way.times),
    ...(await more(node, test)),
  });
  const engine = createEngine({ ...test.deps, chain });
  const seen = async (wallet: Address): Promise<void> => {
    do node.advance();
    while ((await chain.getAccounts([wallet]))[0] === null);
  };
  await seen(address(test.project.registration.operator));
  node.faults.set(faults);
  return {
    service: engine,
    engine,
    chain,
    test,
    node,
    calls,
    bundleSize: chain.bundleSize,
    async register(input) {
      const project = await test.register(input);
      // It was made beside the cluster, which knows of it once it is confirmed there.
      await seen(address(project.registration.operator));
      return project;
    },
    async dispose() {
      await way.close();
      await node.close(100);
      await test.destroy();
    },
  };
}

const programOf = (project: TestProject): Address =>
  project.registration.tokenProgram === 'token' ? TOKEN_PROGRAM : TOKEN_2022_PROGRAM;

/** Base units of the project's mint that exist. */
export async function supplyOf(
  { test }: Pick<ServiceUnderTest, 'test'>,
  { registration }: TestProject,
): Promise<bigint> {
  const [account] = await test.chain.getAccounts([address(registration.mintAddress)]);
  return decodeMint(account ?? null)?.supply ?? 0n;
}

/** Base units that a wallet holds of the project's mint; 0 without an account. */
export async function balanceOf(
  { test }: Pick<ServiceUnderTest, 'test'>,
  project: TestProject,
  wallet: string,
): Promise<bigint> {
  const at = associatedTokenAddress(
    address(wallet),
    address(project.registration.mintAddress),
    programOf(project),
  );
  const [account] = await test.chain.getAccounts([at]);
  return decodeTokenAccount(account ?? null)?.amount ?? 0n;
}

/** Adds a signature to the approval transaction, as a wallet would. */
export function signApproval(approval: string, signer: KeypairSigner): string {
  const transaction = VersionedTransaction.deserialize(Buffer.from(approval, 'base64'));
  const signature = signer.signNow(transaction.message.serialize());
  transaction.addSignature(new PublicKey(signer.address), signature);
  return Buffer.from(transaction.serialize()).toString('base64');
}

/** The error that a call ends with. */
export async function failureOf(promise: Promise<unknown>): Promise<FlywheelError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome && isFlywheelError(outcome.error)) return outcome.error;
  throw new TypeError(`Expected a FlywheelError, got ${JSON.stringify(outcome)}`, { cause: outcome });
}
