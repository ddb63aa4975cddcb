/** Asks before something is burned by a service that is not on this machine. */
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';

/**
 * Asks where a person can be asked; scripts have decided already.
 * @param deed - such as `Burn 12.5 tokens`.
 * @throws `ERR_DECLINED`
 */
export async function confirmRemote(
  session: Session,
  { kind, pins }: Pick<OpenedService, 'kind' | 'pins'>,
  deed: string,
): Promise<void> {
  if (kind !== 'remote' || !canAsk(session)) return;
  const mint = pins === null ? '' : ` of ${pins.mint}`;
  await requireConsent(session, `${deed}${mint} through ${session.settings.apiUrl.value ?? ''}?`);
}
