/** Says in a dry run what the real command would find in the journal. */
import type { Session } from '../command.js';
import { isOver, type OperationRequest, type OperationState } from '../journal/journal.js';
import { type AskDoneThere, askWhatIsDone } from './done-there.js';
import { changedElements, withoutOverlap } from './overlap.js';
import { noRest, wasCancelled } from './run-operation.js';

const WOULD: Readonly<Record<Exclude<OperationState, 'cancelled'>, string>> = {
  open: 'its outcome is not known, and the command would go on with it',
  waiting: 'its batch waits, and the command would go on with it',
  partial: 'it was done in part, and only --rest would send what has not landed',
  done: 'it is done, and the command would only print its outcome',
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
  if (request.again) return null;
  // A plan needs neither a key nor a service that answers.
  const ask: AskDoneThere = (keys) =>
    doneThere(keys).catch((error: unknown) => {
      if (session.context.signal.aborted) throw error;
      return null;
    });
  await askWhatIsDone(session, journal, request, ask);
  const known = journal.known(request.kind, request.content, request.origin);
  if (known?.state === 'cancelled') throw wasCancelled(known);
  if (known !== undefined) {
    const landed = new Set(journal.landed(request.elements));
    const lacking = request.elements.flatMap(({ digest }, index) => (landed.has(digest) ? [] : [index]));
    if (known.state === 'partial' && isRest) return lacking;
    session.output.tell(`This file was begun ${known.dateBegun}: ${WOULD[known.state]}.`);
    return isOver(known.state) ? [] : null;
  }
  const { overlaps, changes } = journal.inTheWay({ elements: request.elements, taken: null });
  const whole = { ...request, taken: null } as OperationRequest;
  const asked = overlaps.length === 0 ? whole : withoutOverlap(session, whole, overlaps, { noun, isRest });
  const taken = asked === null ? [] : asked.taken;
  const left = changes.filter(({ index }) => taken === null || taken.includes(index));
  if (left.length > 0 && !request.allowChanged) throw changedElements(left, { kind: request.kind, noun });
  if (isRest && taken === null) throw noRest();
  return taken;
}
