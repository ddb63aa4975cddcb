/**
 * An honest node may see what the service did a little later than the service: before the two are held against each other, what
 * is not there yet is looked for again, within `--max-wait`.
 */
import type { ChainReader } from '../../chain/chain.js';
import { decodeAccount, PROPOSAL } from '../../chain/squads/accounts.js';
import { proposalAddress } from '../../chain/squads/addresses.js';
import { type FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { requireChainAgrees } from './chain-agrees.js';

/** A node that is further behind than this is no help, and what has not come by then is not there. */
const MAX_BEHIND_MS = 10_000;
const LOOK_MS = 400;
const MS_PER_SECOND = 1_000;

/** Looks again and again, until it is there or nobody waits any longer. */
export async function lookUntil(
  { context, settings }: Session,
  isThere: () => Promise<boolean>,
): Promise<void> {
  const waitMs = Math.min(settings.maxWaitSeconds.value * MS_PER_SECOND, MAX_BEHIND_MS);
  for (let waitedMs = 0; !(await isThere()) && waitedMs + LOOK_MS <= waitMs; waitedMs += LOOK_MS)
    await context.sleep(LOOK_MS);
}

/** Waits for a batch that the service has set up; whether it is as it should be, or there at all, is judged by others. */
export async function awaitSetUp(
  session: Session,
  { kind, chain }: Pick<OpenedService, 'kind' | 'chain'>,
  multisig: Address,
  batchIndex: bigint,
): Promise<void> {
  if (kind === 'embedded' || chain === null) return;
  await lookUntil(session, () => isSetUp(chain, proposalAddress(multisig, batchIndex).address));
}

/** The proposal is activated last. */
async function isSetUp(chain: ChainReader, proposal: Address): Promise<boolean> {
  const [account] = await chain.getAccounts([proposal]);
  const status = account == null ? undefined : decodeAccount(PROPOSAL, account.data)?.status;
  return status !== undefined && status.kind !== 'Draft';
}

/**
 * Holds what a service says against the chain, as {@link requireChainAgrees} does, once the chain has had the time to show it.
 * @throws `ERR_OUTCOME_UNKNOWN` when the chain says otherwise.
 */
export async function requireChainCatchesUp(
  session: Session,
  ...said: Parameters<typeof requireChainAgrees>
): Promise<void> {
  let contradiction: FlywheelError | undefined;
  await lookUntil(session, async () => {
    contradiction = await contradictionOf(said);
    return contradiction === undefined;
  });
  if (contradiction !== undefined) throw contradiction;
}

async function contradictionOf(
  said: Parameters<typeof requireChainAgrees>,
): Promise<FlywheelError | undefined> {
  try {
    await requireChainAgrees(...said);
    return undefined;
  } catch (error) {
    if (isFlywheelError(error, 'ERR_OUTCOME_UNKNOWN')) return error;
    throw error;
  }
}
