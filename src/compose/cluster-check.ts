/** Checks the cluster before it is used: genesis hash, Squads program and mint must be those of the project. */
import type { Chain } from '../chain/chain.js';
import { clusterName } from '../chain/node-address.js';
import { SQUADS_PROGRAM, tokenProgramAddress } from '../chain/programs.js';
import { decodeMint } from '../chain/tokens/accounts.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { ProjectRecord } from '../store/records.js';
import type { Store } from '../store/store.js';
import { once } from './intercept.js';

export const clusterText = (genesisHash: string | null): string =>
  genesisHash === null
    ? 'no cluster'
    : `${clusterName(genesisHash) ?? 'the cluster'} (genesis ${genesisHash})`;

/** @throws `ERR_STORE_UNAVAILABLE` if the store was made for another cluster */
export async function requireSameCluster(store: Store, genesisHash: string): Promise<void> {
  const { genesis } = await store.progress();
  if (genesis === genesisHash) return;
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `store.db belongs to ${clusterText(genesis)}, but local.json to ${clusterText(genesisHash)}.`,
    { hint: 'Nothing was written. Restore both files from one backup.' },
  );
}

const mismatch = (message: string, genesisHash: string): FlywheelError =>
  new FlywheelError('ERR_CHAIN_MISMATCH', `${message} on ${clusterText(genesisHash)}.`);

/** Checks only the program: the node pool checks each node's genesis hash before it uses the node. @throws `ERR_CHAIN_MISMATCH` */
export async function verifyProgram(chain: Chain, genesisHash: string): Promise<void> {
  const [program] = await chain.getAccounts([SQUADS_PROGRAM]);
  if (program?.executable === true) return;
  throw mismatch(`The Squads program ${SQUADS_PROGRAM} of this project does not exist`, genesisHash);
}

async function verifyMint(chain: Chain, project: ProjectRecord, genesisHash: string): Promise<void> {
  const { mintAddress, decimals, tokenProgram } = project;
  const [account] = await chain.getAccounts([mintAddress]);
  const mint = decodeMint(account ?? null);
  if (mint === undefined)
    throw mismatch(`The account ${mintAddress} of this project is not a mint`, genesisHash);
  const registered = `${decimals} decimals and the program ${tokenProgramAddress(tokenProgram)}`;
  const found = `${mint.decimals} decimals and the program ${mint.tokenProgram}`;
  if (found === registered) return;
  throw mismatch(`The mint ${mintAddress} was registered with ${registered}, but has ${found}`, genesisHash);
}

/** For a data directory. @throws `ERR_CHAIN_MISMATCH` */
export async function verifyDirectory(chain: Chain, store: Store, genesisHash: string): Promise<void> {
  await verifyProgram(chain, genesisHash);
  for (const project of await store.read((tx) => tx.projects.list()))
    await verifyMint(chain, project, genesisHash);
}

/**
 * For a database: checks a project's mint before the first write for it, until the check passes. A missing or changed mint
 * blocks only its own project.
 */
export function verifyEachProject(chain: Chain, store: Store, genesisHash: string) {
  const checks = new Map<string, () => Promise<void>>();
  const look = async (tokenId: string): Promise<void> => {
    const project = await store.read((tx) => tx.projects.find({ id: tokenId }));
    if (project === undefined) return;
    try {
      await verifyMint(chain, project, genesisHash);
    } catch (cause) {
      if (!isFlywheelError(cause, 'ERR_CHAIN_MISMATCH')) throw cause;
      // Clients get a retryable code: their request may be under way.
      throw new FlywheelError('ERR_UNAVAILABLE', cause.message, { cause });
    }
  };
  return (tokenId: string): Promise<void> => {
    const check = checks.get(tokenId) ?? once(() => look(tokenId));
    checks.set(tokenId, check);
    return check();
  };
}
