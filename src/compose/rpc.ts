/** The user's own RPC nodes as the settings name them, reached in the way of the API client: proxies, certificates, time limits. */
import type { ChainReader, ChainSender, History } from '../chain/chain.js';
import type { NodeAddress } from '../chain/node-address.js';
import type { NodeReport } from '../chain/node-report.js';
import { checkNodes } from '../chain/rpc/check-nodes.js';
import type { RpcNode } from '../chain/rpc/exchange.js';
import type { NodePoolOptions } from '../chain/rpc/node-pool.js';
import { createRpcChain } from '../chain/rpc/rpc-chain.js';
import { requireQuorum } from '../cli/config/resolve-rpc.js';
import type { Settings } from '../cli/config/settings.js';
import type { Ambient } from '../cli/context.js';
import { createTransport } from '../client/transport.js';
import { httpEnvironment, requestTimeoutMs } from './http-environment.js';

/** The cluster of the settings. */
export interface OwnRpc {
  readonly reader: ChainReader & History;
  readonly sender: ChainSender;
  close(): Promise<void>;
}

interface Nodes {
  readonly options: NodePoolOptions;
  close(): Promise<void>;
}

const MS_PER_SECOND = 1_000;

/** User and password of an address travel in a header (RFC 7617). */
function authorization({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  const pair = [username, password].map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { authorization: `Basic ${Buffer.from(pair.join(':')).toString('base64')}` };
}

function connect(address: NodeAddress, ambient: Ambient, settings: Settings): RpcNode & Pick<Nodes, 'close'> {
  const url = address.reveal();
  const transport = createTransport(url, {
    requestTimeoutMs: requestTimeoutMs(settings),
    proxy: {},
    ...httpEnvironment(ambient),
  });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': `flywheel/${ambient.version}`,
    ...authorization(url),
  };
  return {
    address,
    post: (body, terms) =>
      transport.exchange({ method: 'POST', url, headers, body }, { ...terms, era: transport.era }),
    close: () => transport.close(),
  };
}

function nodesOf(ambient: Ambient, settings: Settings): Nodes {
  const nodes = settings.rpcUrl.value.map((address) => connect(address, ambient, settings));
  const options: NodePoolOptions = {
    nodes,
    timeoutMs: requestTimeoutMs(settings),
    maxWaitMs: Math.min(settings.maxWaitSeconds.value, settings.waitSeconds.value) * MS_PER_SECOND,
    clock: ambient.clock,
    random: Math.random,
    sleep: (ms) => ambient.sleep(ms),
    signal: ambient.signal,
    ...(settings.verbose ? { log: (line: string) => ambient.io.stderr.write(`${line}\n`) } : {}),
  };
  return {
    options,
    close: async () => {
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

/**
 * The cluster behind the user's own nodes, or `null` where none is named; nothing is asked before the first call.
 * @throws `ERR_USAGE` or `ERR_CONFIG_INVALID` for fewer nodes than have to agree.
 */
export function openOwnRpc(ambient: Ambient, settings: Settings): OwnRpc | null {
  requireQuorum(settings.rpcUrl.value, settings.rpcQuorum);
  if (settings.rpcUrl.value.length === 0) return null;
  const { options, close } = nodesOf(ambient, settings);
  return { ...createRpcChain({ ...options, quorum: settings.rpcQuorum.value }), close };
}

/** Looks at every node that the settings name. */
export async function checkRpcNodes(ambient: Ambient, settings: Settings): Promise<readonly NodeReport[]> {
  const { options, close } = nodesOf(ambient, settings);
  try {
    return await checkNodes(options);
  } finally {
    await close();
  }
}
