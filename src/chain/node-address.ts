/** Names of nodes and clusters: addresses, monikers, and the result of a node check. */
import { FlywheelError } from '../errors/flywheel-error.js';
import { hostOf } from '../values/host.js';
import { visibleLine } from '../values/text.js';

const MAINNET = 'mainnet-beta';

const MONIKERS = new Map([
  ['mainnet', 'https://api.mainnet-beta.solana.com'],
  [MAINNET, 'https://api.mainnet-beta.solana.com'],
  ['devnet', 'https://api.devnet.solana.com'],
  ['testnet', 'https://api.testnet.solana.com'],
  ['localhost', 'http://localhost:8899'],
]);

/** Genesis hashes of the public clusters (docs.anza.xyz/clusters/available). */
const CLUSTER_BY_GENESIS = new Map([
  ['5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d', MAINNET],
  ['EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG', 'devnet'],
  ['4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY', 'testnet'],
]);

/** Name of the public cluster with this genesis hash; `null` for a private cluster. */
export const clusterName = (genesisHash: string): string | null =>
  CLUSTER_BY_GENESIS.get(genesisHash) ?? null;

const MIN_KEY_LENGTH = 6;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Parts of an address that may be a secret key: user, password, path segments, query values. */
function keysIn(url: URL): readonly string[] {
  const raw = [
    url.username,
    url.password,
    ...url.pathname.split('/'),
    ...url.search.slice(1).split(/[&=]/),
    ...[...url.searchParams.values()],
  ];
  // As it is sent (RFC 7617).
  const pair = Buffer.from([url.username, url.password].map(decoded).join(':')).toString('base64');
  const texts = new Set([...raw.flatMap((text) => [text, decoded(text)]), pair]);
  // Longest first, because one may contain another.
  return [...texts].filter(({ length }) => length >= MIN_KEY_LENGTH).sort((a, b) => b.length - a.length);
}

/** The address of one RPC node. It may contain an API key, so `toString` and `toJSON` mask everything but the origin. */
export class NodeAddress {
  readonly #url: URL;
  readonly #given: string;

  constructor(url: URL, given: string) {
    this.#url = url;
    this.#given = given;
  }

  /** The unmasked text, for storage only. */
  get given(): string {
    return this.#given;
  }

  /** The unmasked address, for the transport only. */
  reveal(): URL {
    return new URL(this.#url);
  }

  get host(): string {
    return this.#url.host;
  }

  /** Equal for all spellings of one host: a quorum counts it once. */
  get sameHost(): string {
    return hostOf(this.#url);
  }

  /** The address with `***` in place of everything after the origin. */
  get shown(): string {
    const { origin, pathname, search, username, password } = this.#url;
    const isWhole = /^\/?$/.test(pathname) && search === '' && username === '' && password === '';
    return isWhole ? origin : `${origin}/***`;
  }

  /** Text from the node, on one line, with the parts that may be a key masked. */
  hide(text: string): string {
    return keysIn(this.#url).reduce((line, key) => line.replaceAll(key, '***'), visibleLine(text));
  }

  toString(): string {
    return this.shown;
  }

  toJSON(): string {
    return this.shown;
  }
}

export const isMoniker = (text: string): boolean => MONIKERS.has(text);

/**
 * Parses an http or https URL, or the name of a cluster.
 * @param where - source of the text, for the error. The text itself may contain a key and is not shown.
 * @throws `ERR_CONFIG_INVALID`
 */
export function nodeAddress(text: string, where: string): NodeAddress {
  const full = MONIKERS.get(text) ?? text;
  // Other spellings that the URL parser accepts are refused: masking relies on this form.
  const url = /^https?:\/\/[^/\\]/i.test(full) && URL.canParse(full) ? new URL(full) : undefined;
  if (url !== undefined) {
    url.hash = '';
    return new NodeAddress(url, text);
  }
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `${where} is not an RPC node. Expected an http or https URL, or ${[...MONIKERS.keys()].join(', ')}.`,
  );
}

/**
 * Requires as many different hosts as the quorum: one host named twice counts once.
 * @throws `ERR_USAGE` for a quorum from a flag, else `ERR_CONFIG_INVALID`.
 */
export function requireQuorum(
  nodes: readonly NodeAddress[],
  { value, source }: { readonly value: number; readonly source: string },
): void {
  const hosts = new Set(nodes.map(({ sameHost }) => sameHost)).size;
  if (value === 1 || value <= hosts) return;
  throw new FlywheelError(
    source === 'flag' ? 'ERR_USAGE' : 'ERR_CONFIG_INVALID',
    `${value} RPC nodes must agree, but ${hosts === 0 ? 'none is' : `only ${hosts} ${hosts === 1 ? 'is' : 'are'}`} given.`,
    { hint: 'Add nodes on different hosts with --rpc-url, or lower --quorum.' },
  );
}

/** The wallet standard's name of a cluster. */
export function walletChain(genesisHash: string): string {
  const name = clusterName(genesisHash) ?? 'localnet';
  return `solana:${name === MAINNET ? 'mainnet' : name}`;
}

export interface NodeState {
  readonly genesisHash: string;
  readonly cluster: string | null;
  readonly slot: number;
  /** Slots behind the most advanced node. */
  readonly slotsBehind: number;
  readonly version: string;
  readonly latencyMs: number;
  /** Local clock minus chain time; `null` where the node does not return the clock. */
  readonly clockAheadMs: number | null;
}

export interface NodeReport {
  readonly address: NodeAddress;
  readonly state: NodeState | null;
  readonly problem: FlywheelError | null;
}
