/** A block engine on loopback that hands bundles to a test node, or does not: as a test tells it. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BlockEngineAddress } from '../../src/chain/rpc/block-engine.js';
import { decodeTransaction } from '../../src/chain/transaction/wire.js';
import { base58Encode } from '../../src/values/base58.js';
import { rpcResult } from './rpc-call.js';
import { nodeAt } from './rpc-chain.js';

/** What it does with a bundle. */
export type BundleFate = 'accept' | 'drop' | 'half' | 'busy' | 'refuse';

export interface StubBlockEngine {
  readonly url: string;
  readonly address: BlockEngineAddress;
  /** Signatures of every bundle that came, and what was done with it. */
  readonly bundles: { readonly signatures: readonly string[]; readonly fate: BundleFate }[];
  /** Every method that was asked for. */
  readonly methods: string[];
  /** Of the next bundles, one each; then all are accepted. */
  readonly fates: BundleFate[];
}

const servers = new Set<Server>();

export async function closeBlockEngines(): Promise<void> {
  const all = [...servers];
  servers.clear();
  await Promise.all(all.map((server) => new Promise((done) => server.close(done).closeAllConnections())));
}

const signatureOf = (wire: string): string =>
  base58Encode(decodeTransaction(Buffer.from(wire, 'base64')).signatures[0] ?? new Uint8Array());

/** @param tipAccount - one that is there; any payment opens no account. */
export async function stubBlockEngine(
  nodeUrl: string,
  tipAccount: string,
  { maxTipLamports = 100_000n, floorSol = 0.000_02 } = {},
): Promise<StubBlockEngine> {
  const stub = {
    bundles: [] as StubBlockEngine['bundles'],
    methods: [] as string[],
    fates: [] as BundleFate[],
  };

  const hand = async (wires: readonly string[], fate: BundleFate): Promise<void> => {
    const passed = fate === 'accept' ? wires : fate === 'half' ? wires.slice(0, 1) : [];
    const terms = { encoding: 'base64', skipPreflight: true, maxRetries: 0 };
    for (const wire of passed) await rpcResult(nodeUrl, 'sendTransaction', wire, terms);
  };

  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const say = (status: number, body: unknown, headers: object = {}): void => {
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
    };
    if (request.method === 'GET') return say(200, [{ landed_tips_50th_percentile: floorSol }]);
    const { id, method, params } = JSON.parse(Buffer.concat(parts).toString());
    stub.methods.push(method);
    if (method === 'getTipAccounts') return say(200, { jsonrpc: '2.0', id, result: [tipAccount] });
    if (method !== 'sendBundle') return say(200, { jsonrpc: '2.0', id, result: { value: [] } });
    const [wires] = params as [readonly string[]];
    const fate = stub.fates.shift() ?? 'accept';
    stub.bundles.push({ signatures: wires.map(signatureOf), fate });
    await hand(wires, fate);
    if (fate === 'busy') return say(429, {}, { 'retry-after': '0' });
    if (fate === 'refuse') return say(400, { jsonrpc: '2.0', id, error: { code: -32_602, message: 'no' } });
    // Whatever it does, it says that all is well.
    return say(200, { jsonrpc: '2.0', id, result: 'a name' });
  });
  servers.add(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const address: BlockEngineAddress = {
    node: nodeAt(url),
    maxTipLamports,
    floor: async () => {
      const answer = await fetch(url);
      return { kind: 'answer', status: answer.status, headers: {}, text: await answer.text() };
    },
  };
  return { url, address, ...stub };
}
