/** Says in a dry run what the real command would find in the journal. */
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OperationKind, OperationState } from '../journal/journal.js';

const WOULD: Readonly<Partial<Record<OperationState, string>>> = {
  open: 'its outcome is not known, and the command would go on with it',
  waiting: 'its batch waits, and the command would go on with it',
  partial: 'it was done in part, and only --rest would send what has not landed',
  done: 'it is done, and the command would only print what came of it',
  failed: 'it has failed, and the command would only print what came of it',
};

/** A dry run looks at the whole file; this is what of it has been begun before, if it can be looked up. */
export async function noteKnown(session: Session, kind: OperationKind, content: Sha256): Promise<void> {
  const opened = await session.service().catch(() => undefined);
  const known = (await opened?.journal().catch(() => undefined))?.known(kind, content);
  const would = known && WOULD[known.state];
  if (would !== undefined) session.output.tell(`This file was begun ${known?.dateBegun}: ${would}.`);
}
