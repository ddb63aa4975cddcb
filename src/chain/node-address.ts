/** Nodes and clusters as people name them: addresses, names, pages of the explorer, and what looking at a node brings to light. */
import { FlywheelError } from '../errors/flywheel-error.js';
import { visibleLine } from '../values/text.js';

/** The public nodes behind the names that people use for clusters. */
const MONIKERS: Readonly<Record<string, string>> = {
  mainnet: 'https://api.mainnet-beta.solana.com',
  'mainnet-beta': 'https://api.mainnet-beta.solana.com',
  devnet: 'https://api.devnet.solana.com',
  testnet: 'https://api.testnet.solana.com',
  localhost: 'http://localhost:8899',
};

/** What the Solana CLI takes as well (agave, `normalize_to_url_if_moniker`). */
const SHORT_MONIKERS: Readonly<Record<string, string>> = {
  m: 'mainnet-beta',
  d: 'devnet',
  t: 'testnet',
  l: 'localhost',
};

/** Genesis hashes of the public clusters (docs.anza.xyz/clusters/available). */
const CLUSTER_BY_GENESIS: Readonly<Record<string, string>> = {
  '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d': 'mainnet-beta',
  EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG: 'devnet',
  '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY': 'testnet',
};

/** Name of the public cluster with this genesis hash, or `null`: it is somebody's own. */
export const clusterName = (genesisHash: string): string | null =>
  Object.hasOwn(CLUSTER_BY_GENESIS, genesisHash) ? (CLUSTER_BY_GENESIS[genesisHash] ?? null) : null;

/** Shorter parts of an address are words such as `v2`, not keys. */
const MIN_KEY_LENGTH = 6;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** All that may be a key in an address: user, password, parts of the path, values of the query. */
function keysIn(url: URL): readonly string[] {
  const raw = [
    url.username,
    url.password,
    ...url.pathname.split('/'),
    ...url.search.slice(1).split(/[&=]/),
    ...[...url.searchParams.values()],
  ];
  const texts = new Set(raw.flatMap((text) => [text, decoded(text)]));
  // The longest first, since one can be part of another.
  return [...texts].filter(({ length }) => length >= MIN_KEY_LENGTH).sort((a, b) => b.length - a.length);
}

/** The address of one RPC node. It may hold a key, so every ordinary way of printing it shows only where it is. */
export class NodeAddress {
  readonly #url: URL;
  readonly #given: string;

  constructor(url: URL, given: string) {
    this.#url = url;
    this.#given = given;
  }

  /** The text as it was given, for the place that stores it. */
  get given(): string {
    return this.#given;
  }

  /** The whole address, for the one place that sends to it. */
  reveal(): URL {
    return new URL(this.#url);
  }

  /** Host and port: what errors name. */
  get host(): string {
    return this.#url.host;
  }

  /** The address with `***` for all that may be a key. */
  get shown(): string {
    const { origin, pathname, search, username, password } = this.#url;
    const isWhole = /^\/?$/.test(pathname) && search === '' && username === '' && password === '';
    return isWhole ? origin : `${origin}/***`;
  }

  /** Text that came from the node, on one line and without the key that it was sent. */
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

/** Is it one of the names that stand for a public node? */
export const isMoniker = (text: string): boolean => Object.hasOwn(MONIKERS, text);

/**
 * An http or https URL, or the name of a cluster, as the address of a node.
 * @param where - what the text was given as, for the error; the text itself may hold a key and is not shown.
 * @throws `ERR_CONFIG_INVALID`
 */
export function nodeAddress(text: string, where: string): NodeAddress {
  const full = isMoniker(text) ? (MONIKERS[text] ?? text) : text;
  // Other spellings that a browser forgives are no address here: what hides keys knows this one.
  const url = /^https?:\/\/[^/\\]/i.test(full) && URL.canParse(full) ? new URL(full) : undefined;
  if (url !== undefined) {
    url.hash = '';
    return new NodeAddress(url, text);
  }
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `${where} is not an RPC node. Expected an http or https URL, or ${Object.keys(MONIKERS).join(', ')}.`,
  );
}

/** The same for what the Solana CLI keeps, which has short names too. @throws `ERR_CONFIG_INVALID` */
export const solanaCliAddress = (text: string, where: string): NodeAddress =>
  nodeAddress(Object.hasOwn(SHORT_MONIKERS, text) ? (SHORT_MONIKERS[text] ?? text) : text, where);

/**
 * Are there enough nodes for the quorum? One that is named twice is no second opinion.
 * @throws `ERR_USAGE` for a quorum that was typed, else `ERR_CONFIG_INVALID`.
 */
export function requireQuorum(
  nodes: readonly NodeAddress[],
  { value, source }: { readonly value: number; readonly source: string },
): void {
  const hosts = new Set(nodes.map(({ host }) => host)).size;
  if (value === 1 || value <= hosts) return;
  throw new FlywheelError(
    source === 'flag' ? 'ERR_USAGE' : 'ERR_CONFIG_INVALID',
    `${value} RPC nodes must agree, but ${hosts === 0 ? 'none is' : `only ${hosts} ${hosts === 1 ? 'is' : 'are'}`} given.`,
    { hint: 'Add nodes on different hosts with --rpc-url, or lower --quorum.' },
  );
}

/** What a page is about. */
export type ExplorerPage = 'tx' | 'address';

const EXPLORER = 'https://explorer.solana.com';
const MAINNET = 'mainnet-beta';

/**
 * The page of a transaction or an address.
 * @param cluster - name of a public cluster.
 */
export const explorerLink = (cluster: string, page: ExplorerPage, id: string): string =>
  `${EXPLORER}/${page}/${encodeURIComponent(id)}${cluster === MAINNET ? '' : `?cluster=${cluster}`}`;

/** Somebody's own cluster, or the embedded ledger. */
const LOCAL_CHAIN = 'solana:localnet';

/** The chain with this genesis hash. */
export function walletChain(genesisHash: string): string {
  const name = clusterName(genesisHash);
  if (name === null) return LOCAL_CHAIN;
  return name === 'mainnet-beta' ? 'solana:mainnet' : `solana:${name}`;
}

/** What is known of a node. */
export interface NodeState {
  readonly genesisHash: string;
  /** Name of the public cluster, or `null`: it is somebody's own. */
  readonly cluster: string | null;
  readonly slot: number;
  /** Slots behind the furthest of the nodes. */
  readonly slotsBehind: number;
  readonly version: string;
  /** Time of one question and its answer. */
  readonly latencyMs: number;
  /** By how much the clock of this machine is ahead of the time of the chain; `null` where the node does not tell it. */
  readonly clockAheadMs: number | null;
}

/** A node, and what was found: its state, or why it is not to be used, or both. */
export interface NodeReport {
  readonly address: NodeAddress;
  /** `null` where the node says nothing of use. */
  readonly state: NodeState | null;
  readonly problem: FlywheelError | null;
}
