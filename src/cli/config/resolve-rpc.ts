/** The user's own RPC nodes and how many have to agree: flag > environment > profile > the Solana CLI's configuration. */
import { type NodeAddress, nodeAddress, solanaCliAddress } from '../../chain/node-address.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Ambient } from '../context.js';
import type { Profile } from './profile-file.js';
import type { GlobalFlags } from './resolve.js';
import type { Setting, Settings, Source } from './settings.js';
import { SOLANA_CONFIG_FILE, solanaCliSetting } from './solana-config.js';

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

/** The quorum that the environment asks for, or `null`. @throws `ERR_CONFIG_INVALID` */
export function environmentQuorum({ env }: Pick<Ambient, 'env'>): Setting<number> | null {
  const variable = env['FLYWHEEL_RPC_QUORUM'];
  if (variable === undefined || variable === '') return null;
  return { value: quorumOf(variable, 'FLYWHEEL_RPC_QUORUM', 'ERR_CONFIG_INVALID'), source: 'environment' };
}

function findNodes(ambient: Ambient, flags: GlobalFlags, profile: Profile): Settings['rpcUrl'] {
  const { rpcUrl: typed = [] } = flags;
  const stored = rpcUrlsOf(profile);
  if (typed.length > 0) return addresses(typed, 'flag', (text) => nodeAddress(text, '--rpc-url'));
  const variable = environmentNodes(ambient);
  if (variable !== null) return variable;
  if (stored.length > 0)
    return addresses(stored, 'profile', (text) => nodeAddress(text, 'rpcUrl of the profile'));
  return solanaRpc(ambient.home);
}

function findQuorum(ambient: Ambient, flags: GlobalFlags, profile: Profile): Setting<number> {
  if (flags.quorum !== undefined)
    return { value: quorumOf(flags.quorum, '--quorum', 'ERR_USAGE'), source: 'flag' };
  const variable = environmentQuorum(ambient);
  if (variable !== null) return variable;
  if (profile.rpcQuorum === undefined) return { value: 1, source: 'default' };
  const stored = quorumOf(String(profile.rpcQuorum), 'rpcQuorum of the profile', 'ERR_CONFIG_INVALID');
  return { value: stored, source: 'profile' };
}

function quorumOf(text: string, where: string, code: 'ERR_USAGE' | 'ERR_CONFIG_INVALID'): number {
  const value = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= MAX_NODES) return value;
  throw new FlywheelError(
    code,
    `${where} takes a number of nodes from 1 to ${MAX_NODES}, got ${JSON.stringify(text)}.`,
  );
}

/**
 * Both settings. Without a remote API they are not used, so that what is wrong with those kept elsewhere is no concern then.
 * @throws `ERR_CONFIG_INVALID` or `ERR_USAGE` naming where the value came from, and never the address.
 */
export function resolveRpc(
  ambient: Ambient,
  flags: GlobalFlags,
  profile: Profile,
  isRemote: boolean,
): Pick<Settings, 'rpcUrl' | 'rpcQuorum'> {
  const isTyped = flags.rpcUrl !== undefined || flags.quorum !== undefined;
  try {
    return { rpcUrl: findNodes(ambient, flags, profile), rpcQuorum: findQuorum(ambient, flags, profile) };
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
