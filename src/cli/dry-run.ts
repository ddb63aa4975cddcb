/** Reads the expected effects of a request without sending it. */

import { wrapUnknown } from '../errors/flywheel-error.js';
import type { Secret } from '../values/secret.js';
import { grouped } from '../values/token-amount.js';
import type { Session } from './command.js';
import type { BurnsForesight, OpenedService } from './context.js';
import type { Field } from './output/table.js';
import { tokensText } from './views/unit.js';

type Change = BurnsForesight['supply'];

export type Outlook =
  | {
      readonly foresight: NonNullable<OpenedService['foresight']>;
      readonly credential: Secret | null;
      readonly symbol: string | null;
    }
  | { readonly foresight: null; readonly reason: string; readonly symbol: string | null };

/** A dry run works without a service, so an error while opening one becomes the reason. */
export async function outlookOf(session: Session): Promise<Outlook> {
  try {
    const { foresight, credential, symbol } = await session.service();
    if (foresight !== null) return { foresight, credential, symbol };
    return { foresight: null, reason: 'the service has not been asked', symbol };
  } catch (error) {
    return { foresight: null, reason: wrapUnknown(error).message.replace(/\.$/, ''), symbol: null };
  }
}

/** Use of a daily cap before and after; includes reservations of requests that may still land. */
export const usedField = (label: string, change: Change, symbol: string | null): Field => {
  const [name, value] = changeField(label, change, symbol);
  return [name, `${value} used`];
};

export const notForeseen = (outlook: Outlook): Field => [
  'not checked',
  outlook.foresight === null ? `scopes, types, caps and balances (${outlook.reason})` : null,
];

export const changeField = (label: string, { before, after }: Change, symbol: string | null): Field => [
  label,
  before === after ? tokensText(before, symbol) : `${grouped(before)} → ${tokensText(after, symbol)}`,
];
