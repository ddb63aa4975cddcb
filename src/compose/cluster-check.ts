/** Nothing is asked of a cluster or sent to it before it is known to be the one of the flywheel, with its mint and the Squads program. */
import type { Chain } from '../chain/chain.js';
import { clusterName } from '../chain/node-address.js';
import { SQUADS_PROGRAM, tokenProgramAddress } from '../chain/programs.js';
import { decodeMint } from '../chain/tokens/accounts.js';
import type { TokenCheck } from '../engine/deps.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { TokenRecord } from '../store/records.js';
import type { Store } from '../store/store.js';
import { once } from './intercept.js';

export const clusterText = (genesisHash: string | null): string =>
  genesisHash === null
    ? 'no cluster'
    : `${clusterName(genesisHash) ?? 'the cluster'} (genesis ${genesisHash})`;

/** The store was made for this cluster. @throws `ERR_STORE_UNAVAILABLE` */
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

/** The nodes make sure of the genesis hash themselves, each before it is first believed. */
export async function verifyProgram(chain: Chain, genesisHash: string): Promise<void> {
  const [program] = await chain.getAccounts([SQUADS_PROGRAM]);
  if (program?.executable === true) return;
  throw mismatch(`The Squads program ${SQUADS_PROGRAM} of this project does not exist`, genesisHash);
}

/** The mint is on the chain as it was registered. */
async function verifyMint(chain: Chain, token: TokenRecord, genesisHash: string): Promise<void> {
  const { mintAddress, decimals, tokenProgram } = token;
  const [account] = await chain.getAccounts([mintAddress]);
  const mint = decodeMint(account ?? null);
  if (mint === undefined)
    throw mismatch(`The account ${mintAddress} of this project is not a mint`, genesisHash);
  const registered = `${decimals} decimals and the program ${tokenProgramAddress(tokenProgram)}`;
  const found = `${mint.decimals} decimals and the program ${mint.tokenProgram}`;
  if (found === registered) return;
  throw mismatch(`The mint ${mintAddress} was registered with ${registered}, but has ${found}`, genesisHash);
}

/** Of a data directory, whose store holds one project. */
export async function verifyDirectory(chain: Chain, store: Store, genesisHash: string): Promise<void> {
  await verifyProgram(chain, genesisHash);
  for (const token of await store.read((tx) => tx.tokens.list())) await verifyMint(chain, token, genesisHash);
}

/**
 * Looks at the mint of each project before something is first written for it, until it has been found as it was registered. One
 * that is gone or changed keeps only its own project from going on.
 */
export function verifyEachProject(chain: Chain, store: Store, genesisHash: string): TokenCheck {
  const checks = new Map<string, () => Promise<void>>();
  const look = async (tokenId: string): Promise<void> => {
    const token = await store.read((tx) => tx.tokens.find({ id: tokenId }));
    if (token === undefined) return;
    try {
      await verifyMint(chain, token, genesisHash);
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
