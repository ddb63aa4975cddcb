/** What the chain knows and the store does not, as who administers sees it; and a local ledger whose store is older than it. */
import type { LocalChain } from '../chain/local/local-chain.js';
import { decodeTransaction } from '../chain/transaction/wire.js';
import type { GapReport } from '../contract/local-admin.js';
import { findRegistration } from '../engine/admin/find-registration.js';
import { acceptGapIn, openGapIn, type ProjectGap } from '../engine/gaps/accept-gap.js';
import { whatMoved } from '../engine/gaps/what-moved.js';
import type { Store } from '../store/store.js';
import { base58Encode } from '../values/base58.js';
import { randomIds } from '../values/ids.js';
import { type Clock, isoTime } from '../values/time.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { processActor } from './actor.js';
import type { LocalConfig } from './local-config.js';
import { openLedgerFiles } from './open-engine.js';
import { Opened } from './opened.js';
import { RESTORE, refuse, requireOlderAtMost } from './two-files.js';

export function gapReport({ token, flywheel, gap }: ProjectGap): GapReport {
  const text = (amount: bigint): string => formatTokenAmount(amount, token.decimals);
  const { burns, transactions, pendingBurns, dateFound } = gap;
  return {
    ...{ project: flywheel.name, symbol: token.symbol, burns, transactions, pendingBurns, dateFound },
    ...{ burned: text(gap.burned), airdropped: text(gap.airdropped) },
    lost: gap.lost.map(({ signature, burned, airdropped, memo, dateLanded }) => ({
      ...{ txHash: signature, burned: text(burned), airdropped: text(airdropped), memo, date: dateLanded },
    })),
  };
}

/** Where store and ledger of the embedded engine lie. */
interface LedgerPlace {
  readonly dataDir: string;
  readonly config: LocalConfig;
  readonly clock: Clock;
}

/** Store and ledger, of which the store may be the older one, and is by what it lacks. */
async function withFiles<Result>(
  { dataDir, config, clock }: LedgerPlace,
  work: (store: Store, chain: LocalChain, lost: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const opened = new Opened();
  try {
    const { store, chain } = await openLedgerFiles(opened, dataDir, config, clock);
    const isOlder = await requireOlderAtMost(store, chain, config.genesis);
    return await work(store, chain, isOlder ? await lostTransactions(store, chain) : []);
  } finally {
    await opened.close();
  }
}

/** What is missing, as a gap that waits to be accepted; `null` when nothing is. */
export const ledgerGap = (place: LedgerPlace): Promise<GapReport | null> =>
  withFiles(place, (store, chain, lost) =>
    store.transaction(async (tx) => {
      const found = await findRegistration(tx, null);
      if (found === undefined) return null;
      const { id: tokenId } = found.token;
      const moved = await Promise.all(lost.map((signature) => whatMoved(chain, found, signature)));
      const missing = moved.filter((one) => one !== undefined);
      const gap = { id: randomIds.uuid(), tokenId, dateFound: isoTime(tx.nowMs) };
      if (missing.length > 0) await tx.gaps.add(gap, missing);
      const open = await openGapIn(tx, tokenId);
      return open === undefined ? null : gapReport({ ...found, gap: open });
    }),
  );

/** Accepts it, and lets the store go on from the ledger. @throws as {@link acceptGapIn} */
export const acceptLedgerGap = (place: LedgerPlace, transactions: number): Promise<void> =>
  withFiles(place, async (store, chain) => {
    await store.transaction(async (tx) => {
      const [token] = await tx.tokens.list();
      await acceptGapIn(tx, { tokenId: token?.id ?? '', transactions, actor: processActor() });
    });
    await store.raiseRevision(chain.progress().storeRevision);
  });

/**
 * Lets a store that is older than its ledger go on, if nothing is lost by it: everything that the wallets of this flywheel
 * have sent since is known to the store, so that no answer and no idempotency key is missing.
 * @returns what was done. @throws `ERR_STORE_UNAVAILABLE` for everything else that is wrong between the two.
 */
export const repairLedger = (place: LedgerPlace): Promise<string> =>
  withFiles(place, async (store, chain, lost) => {
    if (lost.length > 0)
      throw refuse(
        `store.db cannot be repaired: ${lost.length} transactions of this flywheel are on the ledger and unknown to it, the first being ${lost[0]}. Going on would forget which requests they answered, and do them once more.`,
        `${RESTORE} Or \`flywheel db accept-gap\`, which shows what is missing and goes on without it.`,
      );
    const { storeRevision } = chain.progress();
    if (storeRevision <= store.revision) return 'nothing to do';
    await store.raiseRevision(storeRevision);
    return 'the store goes on from the ledger';
  });

/** What the wallets of the flywheel have sent above the height that the store knows, and the store does not. */
async function lostTransactions(store: Store, chain: LocalChain): Promise<readonly string[]> {
  const { ledgerHeight } = await store.progress();
  return store.read(async (tx) => {
    const own = new Set<string>();
    for (const token of await tx.tokens.list()) {
      own.add(token.burnWallet);
      const flywheel = await tx.flywheels.ofToken(token.id);
      if (flywheel !== undefined) own.add(flywheel.operator);
    }
    const lost: string[] = [];
    for (const wire of chain.transactionsAbove(ledgerHeight)) {
      const { message, signatures } = decodeTransaction(wire);
      const signature = base58Encode(signatures[0] ?? new Uint8Array());
      if (own.has(message.staticKeys[0] ?? '') && !(await tx.signatures.isKnown(signature)))
        lost.push(signature);
    }
    return lost;
  });
}
