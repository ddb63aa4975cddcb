/** Reads the expected effects of a request without sending it. */

import { wrapUnknown } from '../errors/flywheel-error.js';
import { grouped } from '../values/token-amount.js';
import type { Session } from './command.js';
import type { BurnsForesight, OpenedService } from './context.js';
import type { Field } from './output/table.js';
import { tokensText } from './views/unit.js';

type Change = BurnsForesight['supply'];

type Outlook = Pick<OpenedService, 'foresight' | 'credential' | 'symbol'>;

/** A dry run works without a service: a warning says what was not checked, and why. */
export async function outlookOf(session: Session): Promise<Outlook> {
  const unopened = { foresight: null, credential: null, symbol: null };
  let reason = 'the service has not been asked.';
  const opened = await session.service().catch((error: unknown) => {
    reason = wrapUnknown(error).message;
    return unopened;
  });
  if (opened.foresight === null)
    session.output.warn(`Scopes, types, caps and balances were not checked: ${reason}`);
  return opened;
}

/** Use of a daily cap before and after; includes reservations of requests that may still land. */
export const usedField = (label: string, change: Change, symbol: string | null): Field => {
  const [name, value] = changeField(label, change, symbol);
  return [name, `${value} used`];
};

export const changeField = (label: string, { before, after }: Change, symbol: string | null): Field => [
  label,
  before === after ? tokensText(before, symbol) : `${grouped(before)} → ${tokensText(after, symbol)}`,
];
