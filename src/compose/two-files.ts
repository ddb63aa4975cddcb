/**
 * Checks that a data directory's store and ledger match. The store names the newest transaction that it knows by a hash over all before it,
 * and everything is stored before it is sent. A ledger without that transaction is older, or has another history. A ledger with a
 * transaction that moved this project's tokens and that the store lacks means that the store is older.
 */
import type { LocalChain } from '../chain/local/local-chain.js';
import { lostOf } from '../engine/unknown-transactions.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Store } from '../store/store.js';
import { isoTime } from '../values/time.js';

const RESTORE = 'Restore store.db and ledger.db together from one backup. Nothing was written.';

const refuse = (message: string): FlywheelError =>
  new FlywheelError('ERR_STORE_UNAVAILABLE', message, { hint: RESTORE });

/**
 * Binds a new pair, and refuses files that do not match.
 * @param expected - genesis of the directory's configuration
 * @param findsGap - records transactions that the store lacks as a gap instead of refusing it
 * @throws `ERR_STORE_UNAVAILABLE`; `ERR_STORE_BEHIND` for an older store, which stays unchanged
 */
export async function requireTogether(
  store: Store,
  chain: LocalChain,
  expected: string | null,
  findsGap: boolean,
): Promise<void> {
  const lost = await lostTransactions(store, chain, expected);
  if (findsGap)
    // This write also stores the newest block as known; the gap records the missing transactions from then on.
    return store.transaction(async (tx) => {
      const [project] = await tx.projects.list();
      if (project) await tx.gaps.add({ tokenId: project.id, dateFound: isoTime(tx.nowMs) }, lost);
    });
  const open = await store.read((tx) => tx.gaps.allOpen());
  const count = open.reduce((sum, { transactions }) => sum + transactions, lost.length);
  if (count > 0)
    throw new FlywheelError(
      'ERR_STORE_BEHIND',
      `store.db lacks ${count} transaction${count === 1 ? '' : 's'} of this project that are in ledger.db: store.db is older, or somebody else signs with the same keys.`,
      { hint: `Review and accept the missing transactions: \`flywheel db accept-gap\`. Or: ${RESTORE}` },
    );
  if ((await store.progress()).genesis === null)
    await store.transaction(({ lineages }) => lineages.bind(chain.ledger.genesis));
}

/**
 * Transactions after the newest known block that moved this project's tokens and are not in the store.
 * @throws `ERR_STORE_UNAVAILABLE` if the ledger lacks that block, or belongs to another project
 */
async function lostTransactions(
  store: Store,
  chain: LocalChain,
  expected: string | null,
): ReturnType<typeof lostOf> {
  const { genesis, ledgerMark } = await store.progress();
  if (genesis !== null && genesis !== chain.ledger.genesis)
    throw refuse('store.db and ledger.db belong to different projects.');
  if (expected !== null && chain.ledger.genesis !== expected)
    throw refuse('ledger.db belongs to another project than this data directory.');
  const landed = chain.ledger.landedAfter(ledgerMark);
  if (landed === null)
    throw refuse(
      'The newest block of store.db is missing from ledger.db. ledger.db is older, or was used without store.db.',
    );
  if (landed.length === 0) return [];
  const { project, known } = await store.read(async (tx) => {
    const [project] = await tx.projects.list(1);
    return { project, known: await tx.signatures.known(landed) };
  });
  if (project === undefined) return [];
  const unknown = landed.filter((signature) => !known.has(signature));
  return lostOf(chain, project, unknown);
}
