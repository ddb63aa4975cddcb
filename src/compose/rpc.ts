/** The user's RPC nodes from the settings, with the proxies, certificates and timeouts of the API client. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ChainReader } from '../chain/chain.js';
import type { NodeReport } from '../chain/node-address.js';
import {
  clusterName,
  isMoniker,
  type NodeAddress,
  nodeAddress,
  requireQuorum,
} from '../chain/node-address.js';
import type { RpcNode } from '../chain/rpc/ask.js';
import { checkNodes } from '../chain/rpc/check-nodes.js';
import { ClusterChain } from '../chain/rpc/cluster-chain.js';
import type { NodePoolOptions } from '../chain/rpc/node-pool.js';
import { withSecondDecoder } from '../chain/rpc/second-decoder.js';
import { type ChainSender, createSender } from '../chain/send.js';
import type { RemoteServiceDeps } from '../client/remote-service.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { apiKeyFile } from '../files/directories.js';
import { onFile } from '../files/read-file.js';
import { createTransport } from '../transport/transport.js';
import type { Ambient } from './context.js';
import { readSecret } from './local-config.js';
import { whileOpen } from './opened.js';
import { placeOf } from './place.js';
import type { Setting, Settings } from './settings.js';

export interface OwnRpc {
  readonly chain: ClusterChain;
  readonly sender: ChainSender;
  /** Reads the same nodes with both decoders. */
  readonly reader: ChainReader;
  close(): Promise<unknown>;
}

interface RpcTerms {
  /** Genesis hash that every node must have. @default the nodes' own */
  readonly genesis?: string;
  /** Continue after a signal, until closed. @default false */
  readonly outlivesSignal?: boolean;
}

const MS_PER_SECOND = 1_000;

/** User and password of a URL go into a header (RFC 7617). */
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

function connect(address: NodeAddress, ambient: Ambient, settings: Settings) {
  const url = address.reveal();
  const environment = { proxy: {}, ...httpEnvironment(ambient) };
  const transport = createTransport(url, {
    requestTimeoutMs: settings.timeoutSeconds.value * MS_PER_SECOND,
    ...environment,
  });
  const who = { 'user-agent': `flywheel/${ambient.version}`, ...authorization(url) };
  const headers = { 'content-type': 'application/json', accept: 'application/json', ...who };
  const post: RpcNode['post'] = (body, terms) =>
    transport.exchange({ method: 'POST', url, headers, body }, terms);
  return { address, post, close: () => transport.close() };
}

function nodesOf(ambient: Ambient, settings: Settings, { genesis, outlivesSignal = false }: RpcTerms = {}) {
  const nodes = settings.rpcUrl.value.map((address) => connect(address, ambient, settings));
  const options: NodePoolOptions = {
    nodes,
    timeoutMs: settings.timeoutSeconds.value * MS_PER_SECOND,
    maxWaitMs: Math.min(settings.maxWaitSeconds.value, settings.waitSeconds.value) * MS_PER_SECOND,
    clock: ambient.clock,
    random: Math.random,
    ...(outlivesSignal
      ? { sleep: (ms) => delay(ms) }
      : { sleep: (ms) => ambient.sleep(ms), signal: ambient.signal }),
    ...(genesis === undefined ? {} : { genesis }),
    ...(settings.verbose ? { log: (line: string) => ambient.io.stderr.write(`${line}\n`) } : {}),
  };
  return { options, close: () => Promise.all(nodes.map((node) => node.close())) };
}

/** Sends nothing before the first call. @throws `ERR_USAGE` or `ERR_CONFIG_INVALID` for fewer nodes than the quorum */
export function openRpc(ambient: Ambient, settings: Settings, terms?: RpcTerms): OwnRpc {
  requireQuorum(settings.rpcUrl.value, settings.rpcQuorum);
  const { options, close } = nodesOf(ambient, settings, terms);
  const chain = new ClusterChain({
    ...options,
    quorum: settings.rpcQuorum.value,
    maxPriorityFeeLamports: BigInt(settings.maxPriorityFee.value),
    commitment: settings.commitment.value,
  });
  return { chain, sender: createSender(chain, options), reader: withSecondDecoder(chain), close };
}

/** The nodes of a project on a cluster. @throws `ERR_CONFIG_INVALID` if none is set */
export function openDataRpc(ambient: Ambient, settings: Settings, terms: RpcTerms): OwnRpc {
  if (settings.rpcProblem !== null) throw settings.rpcProblem;
  const effective = effectiveSettings(settings);
  if (effective.rpcUrl.value.length > 0) return openRpc(ambient, effective, terms);
  throw new FlywheelError('ERR_CONFIG_INVALID', 'No RPC node is set for the cluster of the database.', {
    hint: 'Set FLYWHEEL_RPC_URL, --rpc-url or rpcUrl of the profile.',
  });
}

/** Whether a value was set for this run; a profile may be of another project than the directory. */
export const isOwn = ({ source }: Setting<unknown>): boolean => source === 'flag' || source === 'environment';

/**
 * The settings completed by the data directory's own, which values set for this run override. Unchanged in remote use.
 * @throws `ERR_CONFIG_INVALID`, naming the directory, never the address
 */
export function effectiveSettings(settings: Settings): Settings {
  const { value: dataDir } = settings.dataDir;
  const place = settings.apiUrl.value === null ? placeOf(settings) : null;
  if (place === null || place.kind === 'database') return settings;
  const key = settings.apiKey.value === null ? readSecret(apiKeyFile(dataDir, null)) : null;
  const own: Settings = {
    ...settings,
    ...(key !== null && { apiKey: { value: key, source: 'data directory' } }),
  };
  if (place.kind !== 'cluster') return own;
  if (settings.rpcProblem !== null) throw settings.rpcProblem;
  const { rpcUrls, rpcQuorum, maxPriorityFee, commitment } = place.config.cluster;
  const stored = <Value>(name: Setting<Value>, value: Value | undefined): Setting<Value> =>
    value === undefined || isOwn(name) ? name : { value, source: 'data directory' };
  const node = (text: string): NodeAddress => nodeAddress(text, `${dataDir}: an address in local.json`);
  return {
    ...own,
    rpcUrl: stored(settings.rpcUrl, rpcUrls.map(node)),
    rpcQuorum: stored(settings.rpcQuorum, rpcQuorum),
    maxPriorityFee: stored(settings.maxPriorityFee, maxPriorityFee),
    commitment: stored(settings.commitment, commitment),
  };
}

/** The settings with the cluster's nodes: the one of its address, then those set for this run, else its public one. @throws `ERR_CONFIG_INVALID` */
export function withClusterNodes(settings: Settings, cluster: string): Settings {
  if (settings.rpcProblem !== null) throw settings.rpcProblem;
  const { rpcUrl, rpcQuorum } = settings;
  const own = nodeAddress(cluster, '--cluster');
  const others = isOwn(rpcUrl) ? rpcUrl.value : [];
  const nodes = others.length > 0 && isMoniker(cluster) ? others : [own, ...others];
  const chosen: Settings = {
    ...settings,
    rpcUrl: { value: nodes, source: isOwn(rpcUrl) ? rpcUrl.source : 'flag' },
    rpcQuorum: isOwn(rpcQuorum) ? rpcQuorum : { value: 1, source: 'default' },
  };
  requireQuorum(chosen.rpcUrl.value, chosen.rpcQuorum);
  return chosen;
}

/** Cluster names that users type for another official name. */
const NAMES: Readonly<Record<string, string>> = { mainnet: 'mainnet-beta' };

/**
 * A cluster by name or node address. Fixes the genesis hash that the nodes report first.
 * @throws `ERR_CHAIN_MISMATCH` if the nodes are of another cluster than the named one
 */
export async function openNamedCluster(
  ambient: Ambient,
  settings: Settings,
  cluster: string,
): Promise<OwnRpc> {
  const nodes = withClusterNodes(settings, cluster);
  const genesis = await whileOpen((opened) => opened.keep(openRpc(ambient, nodes)).chain.genesisHash());
  const expected = NAMES[cluster] ?? cluster;
  const name = clusterName(genesis);
  if (isMoniker(cluster) && cluster !== 'localhost' && name !== expected)
    throw new FlywheelError(
      'ERR_CHAIN_MISMATCH',
      `--cluster ${cluster}: the RPC nodes belong to ${name ?? 'another cluster'} (genesis ${genesis}), expected ${expected}.`,
      {
        hint: 'Use nodes of that cluster: --rpc-url. Without --rpc-url, the public node of the cluster is used.',
      },
    );
  return openRpc(ambient, nodes, { genesis });
}

export async function checkRpcNodes(ambient: Ambient, settings: Settings): Promise<readonly NodeReport[]> {
  return whileOpen((opened) => checkNodes(opened.keep(nodesOf(ambient, settings)).options));
}

/** Proxy and certificates of the environment. @throws `ERR_CONFIG_INVALID` */
export function httpEnvironment({ env }: Ambient): Pick<RemoteServiceDeps, 'proxy' | 'extraCa'> {
  const httpsProxy = env['HTTPS_PROXY'] ?? env['https_proxy'];
  const noProxy = env['NO_PROXY'] ?? env['no_proxy'];
  const caFile = env['NODE_EXTRA_CA_CERTS'];
  return {
    proxy: { ...(httpsProxy ? { httpsProxy } : {}), ...(noProxy ? { noProxy } : {}) },
    ...(caFile ? { extraCa: readCa(caFile) } : {}),
  };
}

const readCa = (path: string): string =>
  onFile('ERR_CONFIG_INVALID', `NODE_EXTRA_CA_CERTS: ${path}`, () => readFileSync(path, 'utf8'));
