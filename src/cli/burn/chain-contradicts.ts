/** Whether the chain knows of a burn that the service says has failed: of two that differ, none is believed. */
import type { PastTransaction } from '../../chain/chain.js';
import { proofMemoText } from '../../chain/memo.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { proofHash } from '../../values/digest.js';
import type { OpenedService } from '../context.js';
import type { Entry } from '../journal/journal.js';

/** How far the clocks of this machine and of the chain may be apart. */
const CLOCK_SKEW_MS = 30_000;

/**
 * Looks for the proofs of burns that are said to have failed. Only a proof that was to be recorded on chain can be found there.
 * @throws `ERR_OUTCOME_UNKNOWN` naming the first transaction that carries one.
 */
export async function requireNotOnChain(
  { kind, history, pins }: Pick<OpenedService, 'kind' | 'history' | 'pins'>,
  entry: Pick<Entry, 'dateBegun'>,
  failed: readonly BurnRequest[],
): Promise<void> {
  const recorded = failed.filter(({ persistOnchain }) => persistOnchain);
  // The embedded engine and its ledger are one.
  if (kind === 'embedded' || history === null || pins === null || recorded.length === 0) return;
  const since = Date.parse(entry.dateBegun) - CLOCK_SKEW_MS;
  const past = await history.history(pins.mint, { sinceMs: since });
  for (const { type, proof } of recorded) {
    const text = proofMemoText(type, proofHash(proof));
    const landed = past.find(({ memo, failed }) => !failed && memo?.includes(text) === true);
    if (landed !== undefined) throw contradiction(landed);
  }
}

function contradiction({ signature, blockTimeMs }: PastTransaction): FlywheelError {
  const when = blockTimeMs === null ? '' : `, since ${new Date(blockTimeMs).toISOString()}`;
  return new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The service says that the burn failed, but transaction ${signature} on chain has its proof${when}.`,
  );
}
