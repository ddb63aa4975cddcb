/** Asks what a request would come to, where that can be asked without sending it. */
import type { Change, Foresight } from '../contract/local-admin.js';
import { wrapUnknown } from '../errors/flywheel-error.js';
import type { Secret } from '../values/secret.js';
import type { Session } from './command.js';
import type { Field } from './output/table.js';
import { grouped, tokensText } from './views/unit.js';

/** Who can look ahead, or why nobody can. */
export type Outlook =
  | { readonly foresight: Foresight; readonly credential: Secret | null; readonly symbol: string | null }
  | { readonly foresight: null; readonly reason: string; readonly symbol: string | null };

/** A dry run needs no service, so one that cannot be opened is no error of its own. */
export async function outlookOf(session: Session): Promise<Outlook> {
  try {
    const { foresight, credential, symbol } = await session.service();
    if (foresight !== null) return { foresight, credential, symbol };
    return { foresight: null, reason: 'the service has not been asked', symbol };
  } catch (error) {
    return { foresight: null, reason: wrapUnknown(error).message.replace(/\.$/, ''), symbol: null };
  }
}

/** What of a daily cap is used before and after, by what landed and by what still may. */
export const usedField = (label: string, change: Change, symbol: string | null): Field => {
  const [name, value] = changeField(label, change, symbol);
  return [name, `${value} used`];
};

/** The line of a dry run that could not look at everything. */
export const notForeseen = (outlook: Outlook): Field => [
  'not checked',
  outlook.foresight === null ? `scopes, types, caps and balances (${outlook.reason})` : null,
];

/** What something would be before and after. */
export const changeField = (label: string, { before, after }: Change, symbol: string | null): Field => [
  label,
  before === after ? tokensText(before, symbol) : `${grouped(before)} → ${tokensText(after, symbol)}`,
];
