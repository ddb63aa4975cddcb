/**
 * Burns that have landed, until no fork can take them back. One that a fork has taken back is sent again as the same bytes. Where
 * these can land no more, it is pending again and brought to its end as every pending burn is.
 */
import type { RecoveryScope } from '../../contract/recovery.js';
import type { BurnRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { EngineDeps } from '../deps.js';
import { isWorkedOn } from '../lease.js';
import { type Fate, findFates } from '../settle/fate.js';
import { unitOf, writeFinal } from './chunk.js';

/**
 * Looks at what became of confirmed burns, of one project or of all, and sends nothing.
 * @returns how many are pending again, and the bytes of those that may be sent once more.
 * @throws `ERR_UNAVAILABLE` when the chain is out of reach.
 */
export async function watchConfirmed(
  { chain, store }: Pick<EngineDeps, 'chain' | 'store'>,
  { tokenId = null }: RecoveryScope = {},
): Promise<{ readonly reopened: number; readonly missing: readonly Uint8Array[] }> {
  const burns = await store.read((tx) => tx.burns.confirmed(tokenId));
  const fates = await findFates(chain, burns.map(unitOf));
  let reopened = 0;
  for (const project of new Set(burns.map((burn) => burn.tokenId))) {
    const own = (is: (fate: Fate) => boolean) =>
      burns.filter((burn, at) => burn.tokenId === project && is(fates[at] as Fate));
    const final = own((fate) => fate.kind === 'landed' && fate.isFinal);
    const undone = own(({ kind }) => kind === 'expired' || kind === 'failed');
    if (final.length + undone.length === 0) continue;
    reopened += await store.transaction(
      async (tx) => {
        await writeFinal(tx, project, final);
        return reopen(tx, undone);
      },
      { tokenId: project },
    );
  }
  const open = burns.filter((_, at) => fates[at]?.kind === 'open');
  return { reopened, missing: open.map(({ transaction }) => transaction) };
}

/** @returns how many; those that another engine has taken up, or whose request somebody works on who would not know, stay. */
async function reopen(tx: StoreTransaction, undone: readonly BurnRecord[]): Promise<number> {
  let reopened = 0;
  for (const burn of undone) {
    const request = await tx.requests.get(burn.requestId);
    if (request?.status === 'running' && isWorkedOn(tx, request)) continue;
    if (!(await tx.burns.reopen(burn))) continue;
    await tx.requests.reopen(burn.requestId);
    reopened += 1;
  }
  return reopened;
}
