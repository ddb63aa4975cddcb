/** Asks before something of worth is burned: by a service elsewhere, or on a cluster. The ledger of this machine is a sandbox. */
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';

type Place = Pick<OpenedService, 'kind' | 'pins' | 'isOnThisMachine' | 'explorer'>;

/**
 * Asks. Where nobody can be asked, a script has decided for a service elsewhere, and needs `--yes` on a cluster.
 * @param deed - such as `Burn 12.5 tokens`.
 * @throws `ERR_DECLINED`, `ERR_USAGE`
 */
export async function confirmSpending(
  session: Session,
  { kind, pins, isOnThisMachine, explorer }: Place,
  deed: string,
): Promise<void> {
  if (kind === 'embedded' ? isOnThisMachine : !canAsk(session)) return;
  const mint = pins === null ? '' : ` of ${pins.mint}`;
  const place =
    kind === 'remote'
      ? `through ${session.settings.apiUrl.value ?? ''}`
      : `on ${explorer ?? 'your own cluster'}`;
  await requireConsent(session, `${deed}${mint} ${place}?`);
}
