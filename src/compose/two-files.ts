/**
 * Store and ledger of one data directory belong together: both carry the hash of the ledger's first block, and each keeps how
 * far it has seen the other. Files of different flywheels or of different times are refused before anything is written.
 */
import type { LedgerProgress } from '../chain/local/ledger/ledger.js';
import type { LocalChain } from '../chain/local/local-chain.js';
import { decodeTransaction } from '../chain/transaction/wire.js';
import { type Acceptance, acceptGapIn, type OpenGap, openGapIn } from '../engine/gaps/accept-gap.js';
import { whatMoved } from '../engine/gaps/what-moved.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { GapRecord, LostTransaction } from '../store/records.js';
import type { Store, StoreProgress } from '../store/store.js';
import { base58Encode } from '../values/base58.js';
import { randomIds } from '../values/ids.js';
import { isoTime } from '../values/time.js';

const RESTORE = 'Restore store.db and ledger.db together from one backup; nothing was written.';

const refuse = (message: string, hint = RESTORE): FlywheelError =>
  new FlywheelError('ERR_STORE_UNAVAILABLE', message, { hint });

/** What is wrong between the two, or `undefined`. @param expected - the ledger that the directory was set up with. */
export function mismatch(
  store: StoreProgress,
  ledger: LedgerProgress,
  expected: string | null,
): FlywheelError | undefined {
  if (store.genesis !== null && store.genesis !== ledger.genesis)
    return refuse('store.db and ledger.db are of different flywheels.');
  if (expected !== null && ledger.genesis !== expected)
    return refuse('ledger.db is of another flywheel than the one that this data directory was set up with.');
  if (store.ledgerHeight > ledger.height) {
    return refuse(
      `ledger.db is older than store.db: it ends at block ${ledger.height}, and store.db knows block ${store.ledgerHeight}.`,
    );
  }
  if (ledger.storeRevision > store.revision) {
    return refuse(
      `store.db is older than ledger.db: it ends at revision ${store.revision}, and ledger.db knows revision ${ledger.storeRevision}.`,
      `${RESTORE} Or \`flywheel doctor --repair\`, which goes on from here if nothing is lost.`,
    );
  }
  return undefined;
}

/** Binds a fresh pair to each other, and refuses what does not belong together. @throws `ERR_STORE_UNAVAILABLE` */
export async function requireTogether(
  store: Store,
  chain: LocalChain,
  expected: string | null,
): Promise<void> {
  const [ofStore, ofLedger] = [await store.progress(), chain.progress()];
  const problem = mismatch(ofStore, ofLedger, expected);
  if (problem !== undefined) throw problem;
  if (ofStore.genesis === null) await store.bind(ofLedger.genesis);
}

/** The ledger knows more than the store, and that is all that is wrong between the two. @throws for everything else */
async function isOnlyOlder(store: Store, chain: LocalChain, expected: string | null): Promise<boolean> {
  const [ofStore, ofLedger] = [await store.progress(), chain.progress()];
  const problem = mismatch(ofStore, ofLedger, expected);
  if (problem === undefined) return false;
  const raised = { ...ofStore, revision: ofLedger.storeRevision };
  if (mismatch(raised, ofLedger, expected) === undefined) return true;
  throw problem;
}

/**
 * What is on the ledger and not in an older store, as a gap that waits to be accepted; `undefined` when nothing is missing.
 * @throws `ERR_STORE_UNAVAILABLE` for everything else that is wrong between the two.
 */
export async function findLedgerGap(
  store: Store,
  chain: LocalChain,
  expected: string | null,
): Promise<OpenGap | undefined> {
  const older = await isOnlyOlder(store, chain, expected);
  const { ledgerHeight } = await store.progress();
  const lost = older ? await lostTransactions(store, chain, ledgerHeight) : [];
  return store.transaction(async (tx) => {
    const [token] = await tx.tokens.list();
    const flywheel = token && (await tx.flywheels.ofToken(token.id));
    if (token === undefined || flywheel === undefined) return undefined;
    const missing: LostTransaction[] = [];
    for (const signature of lost) {
      const moved = await whatMoved(chain, { token, flywheel }, signature);
      if (moved !== undefined) missing.push(moved);
    }
    const found = { id: randomIds.uuid(), tokenId: token.id, dateFound: isoTime(tx.nowMs) };
    if (missing.length > 0) await tx.gaps.add(found, missing);
    return openGapIn(tx, token.id);
  });
}

/** Accepts it, and lets the store go on from the ledger. @throws as {@link acceptGapIn} */
export async function acceptLedgerGap(
  store: Store,
  chain: LocalChain,
  acceptance: Acceptance,
): Promise<GapRecord> {
  const gap = await store.transaction((tx) => acceptGapIn(tx, acceptance));
  await store.raiseRevision(chain.progress().storeRevision);
  return gap;
}

/** What a repair has done. */
export type Repaired = 'nothing to do' | 'the store goes on from the ledger';

/**
 * Lets a store that is older than its ledger go on, if nothing is lost by it: everything that the wallets of this flywheel
 * have sent since is known to the store, so that no answer and no idempotency key is missing.
 * @throws `ERR_STORE_UNAVAILABLE` for everything else that is wrong between the two.
 */
export async function repair(store: Store, chain: LocalChain, expected: string | null): Promise<Repaired> {
  const [ofStore, ofLedger] = [await store.progress(), chain.progress()];
  const problem = mismatch(ofStore, ofLedger, expected);
  if (problem === undefined) return 'nothing to do';
  const isOnlyOlder =
    mismatch({ ...ofStore, revision: ofLedger.storeRevision }, ofLedger, expected) === undefined;
  if (!isOnlyOlder) throw problem;
  const lost = await lostTransactions(store, chain, ofStore.ledgerHeight);
  if (lost.length === 0) {
    await store.raiseRevision(ofLedger.storeRevision);
    return 'the store goes on from the ledger';
  }
  throw refuse(
    `store.db cannot be repaired: ${lost.length} transactions of this flywheel are on the ledger and unknown to it, the first being ${lost[0]}. Going on would forget which requests they answered, and do them once more.`,
    `${RESTORE} Or \`flywheel db accept-gap\`, which shows what is missing and goes on without it.`,
  );
}

async function lostTransactions(store: Store, chain: LocalChain, above: number): Promise<readonly string[]> {
  return store.read(async (tx) => {
    const own = new Set<string>();
    for (const token of await tx.tokens.list()) {
      own.add(token.burnWallet);
      const flywheel = await tx.flywheels.ofToken(token.id);
      if (flywheel !== undefined) own.add(flywheel.operator);
    }
    const lost: string[] = [];
    for (const wire of chain.transactionsAbove(above)) {
      const { message, signatures } = decodeTransaction(wire);
      const signature = base58Encode(signatures[0] ?? new Uint8Array());
      if (own.has(message.staticKeys[0] ?? '') && !(await tx.signatures.isKnown(signature)))
        lost.push(signature);
    }
    return lost;
  });
}
