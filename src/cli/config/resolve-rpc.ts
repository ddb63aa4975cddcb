/** The user's own RPC nodes and how many have to agree: flag > environment > profile > the Solana CLI's configuration. */
import { type NodeAddress, nodeAddress, solanaCliAddress } from '../../chain/node-address.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Ambient } from '../context.js';
import { type Places, type Reading, setting } from './find-setting.js';
import type { Profile } from './profile-file.js';
import type { Setting, Settings, Source } from './settings.js';
import { SOLANA_CONFIG_FILE, solanaCliSetting } from './solana-config.js';

type RpcPlaces = Places & { readonly profile: Profile };

/** More nodes than anybody has to name. */
const MAX_NODES = 16;

const NONE: Setting<readonly NodeAddress[]> = { value: [], source: 'default' };

/** The addresses in a variable, between commas or blanks. */
const words = (text: string | undefined): readonly string[] =>
  (text ?? '').split(/[\s,]+/).filter((word) => word !== '');

/** What a profile stores, as a list. */
export const rpcUrlsOf = ({ rpcUrl }: Profile): readonly string[] =>
  rpcUrl === undefined ? [] : typeof rpcUrl === 'string' ? [rpcUrl] : rpcUrl;

function addresses(
  texts: readonly string[],
  source: Source,
  read: (text: string) => NodeAddress,
): Setting<readonly NodeAddress[]> {
  if (texts.length <= MAX_NODES) return { value: texts.map(read), source };
  throw new FlywheelError('ERR_CONFIG_INVALID', `At most ${MAX_NODES} RPC nodes can be given.`);
}

/** The address that the Solana CLI uses, as the last resort. @throws `ERR_CONFIG_INVALID` */
export function solanaRpc(home: string): Setting<readonly NodeAddress[]> {
  const text = solanaCliSetting(home, 'json_rpc_url');
  if (text === undefined) return NONE;
  return addresses([text], 'solana config', (url) =>
    solanaCliAddress(url, `json_rpc_url in ~/${SOLANA_CONFIG_FILE}`),
  );
}

/** The nodes that the environment names, or `null`. @throws `ERR_CONFIG_INVALID` */
export function environmentNodes({ env }: Pick<Ambient, 'env'>): Settings['rpcUrl'] | null {
  const variable = words(env['FLYWHEEL_RPC_URL']);
  if (variable.length === 0) return null;
  return addresses(variable, 'environment', (text) => nodeAddress(text, 'FLYWHEEL_RPC_URL'));
}

const QUORUM: Reading<number> = {
  takes: `a number of nodes from 1 to ${MAX_NODES}`,
  fallback: 1,
  read: (text) =>
    /^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_NODES ? Number(text) : undefined,
};

/** The quorum that the environment asks for, or `null`. @throws `ERR_CONFIG_INVALID` */
export function environmentQuorum({ env }: Pick<Ambient, 'env'>): Setting<number> | null {
  const found = setting('rpcQuorum', { env, flags: {}, profile: {} }, QUORUM);
  return found.source === 'default' ? null : found;
}

function findNodes(home: string, { flags, env, profile }: RpcPlaces): Settings['rpcUrl'] {
  const { rpcUrl: typed = [] } = flags;
  const stored = rpcUrlsOf(profile);
  if (typed.length > 0) return addresses(typed, 'flag', (text) => nodeAddress(text, '--rpc-url'));
  const variable = environmentNodes({ env });
  if (variable !== null) return variable;
  if (stored.length > 0)
    return addresses(stored, 'profile', (text) => nodeAddress(text, 'rpcUrl of the profile'));
  return solanaRpc(home);
}

/**
 * Both settings. Without a remote API they are not used, so that what is wrong with those kept elsewhere is no concern then.
 * @throws `ERR_CONFIG_INVALID` or `ERR_USAGE` naming where the value came from, and never the address.
 */
export function resolveRpc(
  home: string,
  places: RpcPlaces,
  isRemote: boolean,
): Pick<Settings, 'rpcUrl' | 'rpcQuorum'> {
  const isTyped = places.flags.rpcUrl !== undefined || places.flags.quorum !== undefined;
  try {
    return { rpcUrl: findNodes(home, places), rpcQuorum: setting('rpcQuorum', places, QUORUM) };
  } catch (error) {
    if (isRemote || isTyped) throw error;
    return { rpcUrl: NONE, rpcQuorum: { value: 1, source: 'default' } };
  }
}

/**
 * Are there enough nodes for the quorum? One that is named twice is no second opinion.
 * @throws `ERR_USAGE` for a quorum that was typed, else `ERR_CONFIG_INVALID`.
 */
export function requireQuorum(nodes: readonly NodeAddress[], { value, source }: Setting<number>): void {
  const hosts = new Set(nodes.map(({ host }) => host)).size;
  if (value === 1 || value <= hosts) return;
  throw new FlywheelError(
    source === 'flag' ? 'ERR_USAGE' : 'ERR_CONFIG_INVALID',
    `${value} RPC nodes have to agree, but ${hosts === 0 ? 'none is' : `only ${hosts} ${hosts === 1 ? 'is' : 'are'}`} given.`,
    { hint: 'Give each with --rpc-url, each of another host, or ask for fewer with --quorum.' },
  );
}
