/** Says in a dry run what the real command would find in the journal. */
import type { Session } from '../command.js';
import type { OperationRequest, OperationState } from '../journal/journal.js';
import { type AskDoneThere, askWhatIsDone } from './done-there.js';
import { changedElements, withoutOverlap } from './overlap.js';

const WOULD: Readonly<Record<OperationState, string>> = {
  open: 'its outcome is not known, and the command would go on with it',
  waiting: 'its batch waits, and the command would go on with it',
  partial: 'it was done in part, and only --rest would send what has not landed',
  done: 'it is done, and the command would only print its outcome',
  cancelled: 'its batch was cancelled, and only --again would send it',
};

/**
 * The numbers of the elements that the command would send; `null`: all of them.
 * @throws `ERR_INPUT_INVALID` where the command would be refused.
 */
export async function takenByDryRun(
  session: Session,
  request: OperationRequest,
  {
    noun,
    isRest,
    doneThere,
  }: { readonly noun: string; readonly isRest: boolean; readonly doneThere: AskDoneThere },
): Promise<readonly number[] | null> {
  const opened = await session.service().catch(() => undefined);
  const journal = await opened?.journal().catch(() => undefined);
  if (journal === undefined) return null;
  await askWhatIsDone(session, journal, request, doneThere);
  const known = journal.known(request.kind, request.content);
  if (known !== undefined) {
    session.output.tell(`This file was begun ${known.dateBegun}: ${WOULD[known.state]}.`);
    return null;
  }
  if (request.again) return null;
  const { overlaps, changes } = journal.inTheWay({ elements: request.elements, taken: null });
  const whole = { ...request, taken: null } as OperationRequest;
  const asked = overlaps.length === 0 ? whole : withoutOverlap(session, whole, overlaps, { noun, isRest });
  const taken = asked === null ? [] : asked.taken;
  const left = changes.filter(({ index }) => taken === null || taken.includes(index));
  if (left.length > 0 && !request.allowChanged) throw changedElements(left, noun);
  return taken;
}
