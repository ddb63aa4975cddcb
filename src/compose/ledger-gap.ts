/** What the chain knows and the store does not, as who administers sees it; and a local ledger whose store is older than it. */
import type { LocalChain } from '../chain/local/local-chain.js';
import type { GapReport } from '../contract/local-admin.js';
import { findRegistration } from '../engine/admin/find-registration.js';
import { acceptGapIn, type ProjectGap } from '../engine/gaps/accept-gap.js';
import type { Store } from '../store/store.js';
import type { Clock } from '../values/time.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { processActor } from './actor.js';
import type { LocalConfig } from './local-config.js';
import { openLedgerFiles } from './open-engine.js';
import { Opened } from './opened.js';
import { findLedgerGap } from './two-files.js';

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

/** Store and ledger, whether they belong together or not. */
async function withFiles<Result>(
  { dataDir, config, clock }: LedgerPlace,
  work: (store: Store, chain: LocalChain) => Promise<Result>,
): Promise<Result> {
  const opened = new Opened();
  try {
    const { store, chain } = await openLedgerFiles(opened, dataDir, config, clock);
    return await work(store, chain);
  } finally {
    await opened.close();
  }
}

/** What is missing, as a gap that waits to be accepted; `null` when nothing is. */
export const ledgerGap = (place: LedgerPlace): Promise<GapReport | null> =>
  withFiles(place, async (store, chain) => {
    const gap = await findLedgerGap(store, chain, place.config.genesis);
    const found = await store.read((tx) => findRegistration(tx, null));
    return gap === undefined || found === undefined ? null : gapReport({ ...found, gap });
  });

/** Accepts it. @throws as {@link acceptGapIn} */
export const acceptLedgerGap = (place: LedgerPlace, transactions: number): Promise<void> =>
  withFiles(place, async (store, chain) => {
    const gap = await findLedgerGap(store, chain, place.config.genesis);
    const tokenId = gap?.tokenId ?? (await store.read((tx) => tx.tokens.list()))[0]?.id ?? '';
    await store.transaction((tx) => acceptGapIn(tx, { tokenId, transactions, actor: processActor() }));
  });
