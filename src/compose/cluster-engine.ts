/** Puts the embedded engine together on a cluster: store and keys of one data directory, and the nodes that reach its chain. */

import type { Chain } from '../chain/chain.js';
import { clusterName } from '../chain/node-address.js';
import { SQUADS_PROGRAM, tokenProgramAddress } from '../chain/programs.js';
import { decodeMint } from '../chain/tokens/accounts.js';
import type { TokenCheck } from '../engine/deps.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { TokenRecord } from '../store/records.js';
import { openSqliteStore } from '../store/sqlite/open.js';
import type { Store } from '../store/store.js';
import type { Address } from '../values/address.js';
import { fundsLimits } from './batch-funds.js';
import { shareDataDirectory } from './data-lock.js';
import { type EngineTerms, engineOver, type OpenedEngine } from './engine.js';
import { type ClusterConfig, type ClusterPlace, dataFiles } from './local-config.js';
import type { OwnRpc } from './rpc.js';

/** An engine on a cluster. */
export interface OpenedClusterEngine extends OpenedEngine<Chain> {
  readonly rpc: OwnRpc;
  /** Asks the chain now whether it is the one of this data directory. @throws `ERR_CHAIN_MISMATCH`, `ERR_UNAVAILABLE` */
  verify(): Promise<void>;
}

/**
 * Opens the store of a data directory that is on a cluster. Nothing is asked of the nodes yet: whether they are of that
 * cluster and have its mint and its Squads program is made sure of before the first thing that is read of them or sent.
 *
 * @param rpc - closed with the engine.
 * @throws `ERR_STORE_UNAVAILABLE` when a file cannot be used, or is of another cluster.
 */
export async function openClusterEngine(
  dataDir: string,
  config: ClusterConfig,
  rpc: OwnRpc,
  terms: EngineTerms,
): Promise<OpenedClusterEngine> {
  const files = dataFiles(dataDir);
  const closers: (() => unknown)[] = [() => rpc.close()];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const lock = await shareDataDirectory(files.lock);
    closers.push(() => lock.release());
    const store = await openSqliteStore({ path: files.store, create: false, clock: terms.clock });
    closers.push(() => store.close());
    await requireSameCluster(store, config.cluster);
    const limits = { ...fundsLimits(config), ...terms.limits };
    const check = (): Promise<void> => verifyDirectory(rpc.chain, store, config.cluster);
    return engineOnCluster(dataDir, { store, rpc, check, close }, { ...terms, limits });
  } catch (error) {
    await close();
    throw error;
  }
}

/** What an engine on a cluster works on. */
export interface ClusterData {
  readonly store: Store;
  readonly rpc: OwnRpc;
  /** Is the chain the one of the store? @throws `ERR_CHAIN_MISMATCH`, `ERR_UNAVAILABLE` */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** The engine over a store and the nodes of its cluster; of the chain nothing is asked before the check has passed. */
export function engineOnCluster(
  dataDir: string,
  { store, rpc, check, close }: ClusterData,
  terms: EngineTerms,
): OpenedClusterEngine {
  const verify = once(check);
  const chain = afterCheck(rpc.chain, verify);
  return { ...engineOver(dataDir, { store, chain, close }, null, terms), rpc, verify };
}

/** The store was made for the cluster that `local.json` names. @throws `ERR_STORE_UNAVAILABLE` */
async function requireSameCluster(store: Store, { genesisHash }: ClusterPlace): Promise<void> {
  const { genesis } = await store.progress();
  if (genesis === genesisHash) return;
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `store.db is of ${clusterText(genesis)}, and local.json of ${clusterText(genesisHash)}.`,
    { hint: 'Restore both from one backup; nothing was written.' },
  );
}

/** A cluster in words. */
export const clusterText = (genesisHash: string | null): string =>
  genesisHash === null
    ? 'no cluster'
    : `${clusterName(genesisHash) ?? 'the cluster'} (genesis ${genesisHash})`;

/** Until it has succeeded once. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}

/** What has to be on the cluster, and where it is said to be. */
interface Expected {
  readonly genesisHash: string;
  readonly squadsProgram: Address;
  /** Such as "this data directory". */
  readonly of: string;
}

/** A token as it was registered, or its mint alone. */
type Registered = Pick<TokenRecord, 'mintAddress'> & Partial<TokenRecord>;

const mismatch = (message: string, { genesisHash }: Pick<Expected, 'genesisHash'>): FlywheelError =>
  new FlywheelError('ERR_CHAIN_MISMATCH', `${message} on ${clusterText(genesisHash)}.`);

/** The nodes make sure of the genesis hash themselves, each before it is first believed. */
async function verifyProgram(chain: Chain, expected: Expected): Promise<void> {
  const { squadsProgram, of } = expected;
  const [program] = await chain.getAccounts([squadsProgram]);
  if (program?.executable === true) return;
  throw mismatch(`The Squads program ${squadsProgram} of ${of} is not there`, expected);
}

/** The mint is on the chain as it was registered. */
async function verifyMint(
  chain: Chain,
  { mintAddress, decimals, tokenProgram }: Registered,
  expected: Omit<Expected, 'squadsProgram'>,
): Promise<void> {
  const [account] = await chain.getAccounts([mintAddress]);
  const mint = decodeMint(account ?? null);
  if (mint === undefined)
    throw mismatch(`The account ${mintAddress} of ${expected.of} is not a mint`, expected);
  if (decimals === undefined || tokenProgram === undefined) return;
  const registered = `${decimals} decimals and the program ${tokenProgramAddress(tokenProgram)}`;
  const found = `${mint.decimals} decimals and the program ${mint.tokenProgram}`;
  if (found === registered) return;
  throw mismatch(`The mint ${mintAddress} was registered with ${registered}, and has ${found}`, expected);
}

const listTokens = (store: Store): Promise<readonly TokenRecord[]> => store.read((tx) => tx.tokens.list());

async function verifyDirectory(chain: Chain, store: Store, place: ClusterPlace): Promise<void> {
  const expected = { ...place, of: 'this data directory' };
  const [token] = await listTokens(store);
  await verifyProgram(chain, expected);
  await verifyMint(chain, { mintAddress: place.mint }, expected);
  if (token === undefined) return;
  if (token.mintAddress !== place.mint)
    throw mismatch(`store.db is of the mint ${token.mintAddress}, and local.json of ${place.mint}`, expected);
  await verifyMint(chain, token, expected);
}

/** What every project of a database needs on its chain. */
export const verifyDatabase = (chain: Chain, genesisHash: string): Promise<void> =>
  verifyProgram(chain, { genesisHash, squadsProgram: SQUADS_PROGRAM, of: 'this database' });

/**
 * Looks at the mint of each project before something is first written for it, until it has been found as it was registered. One
 * that is gone or changed keeps only its own project from going on.
 */
export function verifyEachProject(chain: Chain, store: Store, genesisHash: string): TokenCheck {
  const checks = new Map<string, () => Promise<void>>();
  const look = async (tokenId: string): Promise<void> => {
    const token = await store.read((tx) => tx.tokens.get(tokenId));
    if (token === undefined) return;
    try {
      await verifyMint(chain, token, { genesisHash, of: 'this project' });
    } catch (cause) {
      if (!isFlywheelError(cause, 'ERR_CHAIN_MISMATCH')) throw cause;
      // To a client it is a service that cannot serve now: what it has asked for may be under way.
      throw new FlywheelError('ERR_UNAVAILABLE', cause.message, { cause });
    }
  };
  return (tokenId) => {
    const check = checks.get(tokenId) ?? once(() => look(tokenId));
    checks.set(tokenId, check);
    return check();
  };
}

/** A chain of which nothing is asked before the check has passed. All that it does is asynchronous. */
function afterCheck(chain: Chain, check: () => Promise<void>): Chain {
  return new Proxy(chain, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        if (name !== 'close') await check();
        return Reflect.apply(value, target, args);
      };
    },
  });
}
