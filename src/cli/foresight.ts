/** Asks what a request would come to, where that can be asked without sending it. */
import type { Change, Foresight } from '../contract/foresight.js';
import { wrapUnknown } from '../errors/flywheel-error.js';
import type { Secret } from '../values/secret.js';
import type { Session } from './command.js';
import type { Field } from './output/table.js';

/** Who can look ahead, or why nobody can. */
export type Outlook =
  | { readonly foresight: Foresight; readonly credential: Secret | null }
  | { readonly foresight: null; readonly reason: string };

/** A dry run needs no service, so one that cannot be opened is no error of its own. */
export async function outlookOf(session: Session): Promise<Outlook> {
  try {
    const { foresight, credential } = await session.service();
    if (foresight !== null) return { foresight, credential };
    return { foresight: null, reason: 'only the service knows them' };
  } catch (error) {
    return { foresight: null, reason: wrapUnknown(error).message.replace(/\.$/, '') };
  }
}

/** The line of a dry run that could not look at everything. */
export const notForeseen = (reason: string): Field => [
  'not checked',
  `scopes, types, caps and balances (${reason})`,
];

/** What something would be before and after. */
export const changeField = (label: string, { before, after }: Change): Field => [
  label,
  before === after ? before : `${before} → ${after}`,
];
