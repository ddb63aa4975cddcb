/** The service as a caller reaches it, in process or over a socket, with what a test needs to look behind it. */

import { setTimeout } from 'node:timers/promises';
import { PublicKey, VersionedTransaction } from '@solana/web3.js';
import type { Chain } from '../../src/chain/chain.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/chain/programs.js';
import type { RpcNode } from '../../src/chain/rpc/exchange.js';
import { createRpcChain, type RpcChainOptions } from '../../src/chain/rpc/rpc-chain.js';
import { decodeMint, decodeTokenAccount } from '../../src/chain/tokens/accounts.js';
import { associatedTokenAddress } from '../../src/chain/tokens/addresses.js';
import type { KeypairSigner } from '../../src/chain/transaction/signer.js';
import type { RegisterInput } from '../../src/contract/admin.js';
import { callOperation, eachOperation, type Service } from '../../src/contract/service.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { type FlywheelError, isFlywheelError } from '../../src/errors/flywheel-error.js';
import type { HttpServerOptions } from '../../src/http/options.js';
import type { FaultRule } from '../../src/rpc-node/faults/fault-rules.js';
import type { Store } from '../../src/store/store.js';
import { type Address, address } from '../../src/values/address.js';
import { systemClock } from '../../src/values/time.js';
import { engineBeside, openTestEngine, type TestEngine, type TestProject } from './engine.js';
import { remoteClient, startServer } from './http.js';
import { startTestNode, type TestNode } from './local-rpc.js';
import { nodeAt } from './rpc-chain.js';
import type { StoreUnderTest } from './store.js';

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

/** The same on a store in a database, with its ledger in a directory. */
export async function openInDatabase(database: StoreUnderTest): Promise<ServiceUnderTest> {
  const test = await openTestEngine({}, { store: database.store });
  return {
    service: test.engine,
    test,
    bundleSize: test.chain.bundleSize,
    register: (input) => test.register(input),
    async dispose() {
      await test.destroy();
      await database.dispose();
    },
  };
}

/**
 * Two servers on one database, by turns: as behind what shares requests out among them. Neither keeps an answer that the other
 * may have made old.
 */
export async function openServersOnDatabase(database: StoreUnderTest): Promise<ServiceUnderTest> {
  const under = await openInDatabase(database);
  const { test } = under;
  const beside = engineBeside(test, { store: await database.openAgain() });
  const servers = await Promise.all(
    [test.engine, beside].map((engine) =>
      startServer(
        { service: engine, authenticate: (credential) => engine.authenticate(credential) },
        { basePath: '/api' },
      ),
    ),
  );
  const clients = servers.map(({ url }) => remoteClient(url).service);
  let turn = 0;
  const service = eachOperation((id, input, call) => {
    turn += 1;
    return callOperation(clients[turn % clients.length] as Service, id, input, call);
  });
  return {
    ...under,
    service: {
      ...service,
      async close() {
        for (const client of clients) await client.close();
      },
    },
    async dispose() {
      for (const client of clients) await client.close();
      for (const server of servers) await server.closeGracefully(5_000);
      await under.dispose();
    },
  };
}

/** The HTTP server over an engine. */
export async function serveEngine(
  engine: Engine,
  options: HttpServerOptions,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const authenticate: Engine['authenticate'] = (credential) => engine.authenticate(credential);
  const server = await startServer({ service: engine, authenticate }, options);
  return {
    url: server.url,
    async close() {
      await server.closeGracefully(5_000);
    },
  };
}

/** The engine behind the HTTP server, reached by the client over a socket of loopback. */
export const openOverHttp: OpenService = async () => {
  const test = await openTestEngine();
  const server = await serveEngine(test.engine, { basePath: '/api' });
  const { service } = remoteClient(server.url);
  return {
    service,
    test,
    bundleSize: test.chain.bundleSize,
    register: (input) => test.register(input),
    async dispose() {
      await service.close();
      await server.close();
      await test.destroy();
    },
  };
};

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

/** A node, and the method of every call to it. */
function countedNode(url: string, calls: string[]): RpcNode {
  const node = nodeAt(url);
  return {
    ...node,
    post: (body, terms) => {
      calls.push(JSON.parse(body).method);
      return node.post(body, terms);
    },
  };
}

/** The engine on a cluster: a test node over the ledger of its own directory, reached through RPC. */
export async function openOnCluster(
  faults: readonly FaultRule[] = [],
  seed = 1,
  wrap: (node: RpcNode) => RpcNode = (node) => node,
  finalizedAfter = 4,
  more: (node: TestNode, test: TestEngine) => Promise<Partial<RpcChainOptions>> = async () => ({}),
  store?: Store,
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
    ...{ directory: test.dataDir, isDataDirectory: true, pace: 'clock', seed },
    ...{ slotMs: 50, confirmedAfter: 1, finalizedAfter },
  });
  const calls: string[] = [];
  const { chain } = createRpcChain({
    nodes: [wrap(countedNode(node.url, calls))],
    ...{ timeoutMs: 5_000, maxWaitMs: 20_000, pollMs: 20, clock: systemClock, random: Math.random },
    sleep: (ms) => setTimeout(ms),
    ...(await more(node, test)),
  });
  const engine = createEngine({ ...test.deps, chain });
  const seen = async (wallet: Address): Promise<void> => {
    while ((await chain.getAccounts([wallet]))[0] === null) await setTimeout(10);
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
