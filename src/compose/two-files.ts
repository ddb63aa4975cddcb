/**
 * Store and ledger of one data directory belong together: both carry the hash of the ledger's first block, and each keeps how
 * far it has seen the other. Files of different flywheels or of different times are refused before anything is written.
 */
import type { LedgerProgress } from '../chain/local/ledger/ledger.js';
import type { LocalChain } from '../chain/local/local-chain.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Store, StoreProgress } from '../store/store.js';

export const RESTORE = 'Restore store.db and ledger.db together from one backup; nothing was written.';

export const refuse = (message: string, hint = RESTORE): FlywheelError =>
  new FlywheelError('ERR_STORE_UNAVAILABLE', message, { hint });

/** What is wrong between the two beside that the store may be older. */
function mismatch(
  store: StoreProgress,
  ledger: LedgerProgress,
  expected: string | null,
): FlywheelError | undefined {
  if (store.genesis !== null && store.genesis !== ledger.genesis)
    return refuse('store.db and ledger.db are of different flywheels.');
  if (expected !== null && ledger.genesis !== expected)
    return refuse('ledger.db is of another flywheel than the one that this data directory was set up with.');
  if (store.ledgerHeight > ledger.height)
    return refuse(
      `ledger.db is older than store.db: it ends at block ${ledger.height}, and store.db knows block ${store.ledgerHeight}.`,
    );
  return undefined;
}

/**
 * Refuses what does not belong together, apart from a store that is older than its ledger.
 * @param expected - the ledger that the directory was set up with.
 * @returns whether the store is. @throws `ERR_STORE_UNAVAILABLE`
 */
export async function requireOlderAtMost(
  store: Store,
  chain: LocalChain,
  expected: string | null,
): Promise<boolean> {
  const [ofStore, ofLedger] = [await store.progress(), chain.progress()];
  const problem = mismatch(ofStore, ofLedger, expected);
  if (problem !== undefined) throw problem;
  return ofLedger.storeRevision > ofStore.revision;
}

/** Binds a fresh pair to each other, and refuses what does not belong together. @throws `ERR_STORE_UNAVAILABLE` */
export async function requireTogether(
  store: Store,
  chain: LocalChain,
  expected: string | null,
): Promise<void> {
  if (await requireOlderAtMost(store, chain, expected)) {
    const { storeRevision } = chain.progress();
    throw refuse(
      `store.db is older than ledger.db: it ends at revision ${store.revision}, and ledger.db knows revision ${storeRevision}.`,
      `${RESTORE} Or \`flywheel doctor --repair\`, which goes on from here if nothing is lost.`,
    );
  }
  const { genesis } = await store.progress();
  if (genesis === null) await store.bind(chain.progress().genesis);
}
