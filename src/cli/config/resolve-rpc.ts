/** The user's own RPC nodes and how many have to agree: flag > environment > profile > the Solana CLI's configuration. */
import { type NodeAddress, nodeAddress, solanaCliAddress } from '../../chain/node-address.js';
import type { Setting, Settings, Source } from '../../compose/settings.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { type Places, setting } from './find-setting.js';
import type { Profile } from './profile-file.js';
import { MAX_NODES } from './settings-table.js';
import { SOLANA_CONFIG_FILE, solanaCliSetting } from './solana-config.js';

type RpcPlaces = Places & { readonly profile: Profile };

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
  throw new FlywheelError('ERR_CONFIG_INVALID', `At most ${MAX_NODES} RPC nodes are allowed.`);
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
function environmentNodes(env: Places['env']): Settings['rpcUrl'] | null {
  const variable = words(env['FLYWHEEL_RPC_URL']);
  if (variable.length === 0) return null;
  return addresses(variable, 'environment', (text) => nodeAddress(text, 'FLYWHEEL_RPC_URL'));
}

function findNodes(home: string, { flags, env, profile }: RpcPlaces): Settings['rpcUrl'] {
  const { rpcUrl: typed = [] } = flags;
  const stored = rpcUrlsOf(profile);
  if (typed.length > 0) return addresses(typed, 'flag', (text) => nodeAddress(text, '--rpc-url'));
  const variable = environmentNodes(env);
  if (variable !== null) return variable;
  if (stored.length > 0)
    return addresses(stored, 'profile', (text) => nodeAddress(text, 'rpcUrl of the profile'));
  return solanaRpc(home);
}

/** What is wrong with the nodes or the quorum of the environment. */
function environmentProblem(env: Places['env']): FlywheelError | null {
  try {
    environmentNodes(env);
    setting('rpcQuorum', { env, flags: {}, profile: {} });
    return null;
  } catch (error) {
    if (isFlywheelError(error)) return error;
    throw error;
  }
}

/**
 * Nodes and quorum. Without a remote API a flywheel may need none, so what is wrong with those kept elsewhere is no concern then.
 * @throws `ERR_CONFIG_INVALID` or `ERR_USAGE` naming where the value came from, and never the address.
 */
export function resolveRpc(
  home: string,
  places: RpcPlaces,
  isRemote: boolean,
): Pick<Settings, 'rpcUrl' | 'rpcQuorum' | 'rpcProblem'> {
  const isTyped = places.flags.rpcUrl !== undefined || places.flags.quorum !== undefined;
  try {
    const rpcQuorum = setting('rpcQuorum', places);
    return { rpcUrl: findNodes(home, places), rpcQuorum, rpcProblem: null };
  } catch (error) {
    if (isRemote || isTyped) throw error;
    const rpcProblem = environmentProblem(places.env);
    return { rpcUrl: NONE, rpcQuorum: { value: 1, source: 'default' }, rpcProblem };
  }
}
