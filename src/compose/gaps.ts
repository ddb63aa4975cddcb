/** What the chain knows and the store does not, for who administers: found, shown, accepted. */
import type { Chain } from '../chain/chain.js';
import type { GapReport } from '../cli/local-admin.js';
import type { OpenGap } from '../engine/gaps/accept-gap.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { FlywheelRecord, TokenRecord } from '../store/records.js';
import type { Clock } from '../values/time.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { processActor } from './actor.js';
import { type OpenedEngine, openFiles } from './engine.js';
import type { LocalConfig } from './local-config.js';
import { acceptLedgerGap, findLedgerGap } from './two-files.js';

function report(
  { token, flywheel }: { readonly token: TokenRecord; readonly flywheel: Pick<FlywheelRecord, 'name'> },
  gap: OpenGap,
): GapReport {
  const text = (amount: bigint): string => formatTokenAmount(amount, token.decimals);
  return {
    project: flywheel.name,
    symbol: token.symbol,
    burns: gap.burns,
    transactions: gap.transactions,
    burned: text(gap.burned),
    airdropped: text(gap.airdropped),
    pendingBurns: gap.pendingBurns,
    dateFound: gap.dateFound,
    lost: gap.lost.map(({ signature, burned, airdropped, memo, dateLanded }) => ({
      ...{ txHash: signature, burned: text(burned), airdropped: text(airdropped), memo, date: dateLanded },
    })),
  };
}

/** Of a cluster. @returns `null` when nothing is missing. */
export async function gapOfEngine({ engine }: OpenedEngine<Chain>): Promise<GapReport | null> {
  const found = await engine.gaps.find();
  return found === null ? null : report(found, found.gap);
}

/** Where store and ledger of the embedded engine lie, which is not opened while they do not belong together. */
export interface LedgerPlace {
  readonly dataDir: string;
  readonly config: LocalConfig;
  readonly clock: Clock;
}

/**
 * The same on the embedded ledger, whose store is older than the ledger.
 * @param accept - of so many transactions.
 */
export async function gapOfLedger(
  { dataDir, config, clock }: LedgerPlace,
  accept?: number,
): Promise<GapReport | null> {
  const { store, chain, close } = await openFiles(dataDir, config, clock);
  try {
    const gap = await findLedgerGap(store, chain, config.genesis);
    if (gap === undefined) return null;
    const project = await store.read(async (tx) => ({
      token: await tx.tokens.get(gap.tokenId),
      flywheel: await tx.flywheels.ofToken(gap.tokenId),
    }));
    const { token, flywheel } = project;
    if (token === undefined || flywheel === undefined)
      throw new FlywheelError('ERR_LOCAL_NOT_FOUND', 'Nothing is registered here.');
    if (accept !== undefined)
      await acceptLedgerGap(store, {
        ...{ tokenId: gap.tokenId, transactions: accept, actor: processActor() },
      });
    return report({ token, flywheel }, gap);
  } finally {
    await close();
  }
}
