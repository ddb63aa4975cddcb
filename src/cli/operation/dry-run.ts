/** What a command would do, told by its own steps up to the first that sends anything, with a copy of the journal. */

import { isFlywheelError } from '../../errors/flywheel-error.js';
import { batchStages } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import { isOver, type OperationRequest, type OperationState } from '../journal/journal.js';
import { requireNoted } from './done-there.js';
import { beginOperation, makeReady, type Preparation } from './run-operation.js';

const WOULD: Readonly<Record<OperationState, string>> = {
  open: 'its outcome is unknown, and the command would resume it',
  waiting: 'its batch is waiting, and the command would resume it',
  partial: 'part of it has landed, and only --rest would send the others',
  done: 'it is done, and the command would only print the stored result',
  cancelled: 'its batch was cancelled',
};

/**
 * The numbers of the elements that the command would send; `null`: all of them.
 * @param workOf - the work of the command.
 * @throws what the command would be refused with.
 */
export async function takenByDryRun(
  session: Session,
  request: OperationRequest,
  workOf: (session: Session) => Preparation,
): Promise<readonly number[] | null> {
  const dry: Session = { ...session, isDryRun: true };
  const opened = await session.service().catch((error: unknown) => {
    if (!isFlywheelError(error, 'ERR_LOCAL_NOT_FOUND')) throw error;
    return null;
  });
  if (opened === null) return null;
  await opened.copyJournal();
  const work = workOf(dry);
  const begun = await beginOperation(dry, request, work);
  if (begun === null) return [];
  const { entry, isKnownThere } = begun;
  const { tell } = session.output;
  if (!entry.isNew && !(work.rest === true && entry.state === 'partial'))
    tell(`This file was started ${entry.dateBegun}: ${WOULD[entry.state]}.`);
  else if (isKnownThere)
    tell('This file was sent before. The command would resume it or print the stored result.');
  const ready = await makeReady(dry, begun, work);
  if (ready === null) return [];
  if (isOver(entry.state)) {
    if (work.ask !== undefined) await requireNoted(dry, request.elements, work.ask);
    return [];
  }
  const [last] = batchStages(entry.notes).slice(-1);
  const unanswered = work.unanswered(entry)?.requests.flatMap(({ indexes }) => indexes);
  return ready.left ?? unanswered ?? last?.indexes ?? null;
}
