/** Says in a dry run what the real command would find in the journal, and at its service. */
import { batchStages, currentKey } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import type { Element, Entry, Journal, OperationRequest, OperationState } from '../journal/journal.js';
import {
  askWhatIsDone,
  BY_NOTES,
  foreseeUnchanged,
  lostThere,
  noteDone,
  requireThere,
} from './done-there.js';
import { changedElements, requireUnchanged, stillToDo, withoutOverlap } from './overlap.js';
import { noRest, requireOver, type Standing, type Work, wasCancelled } from './run-operation.js';
import type { AskDoneThere } from './service-record.js';

const WOULD: Readonly<Record<Exclude<OperationState, 'cancelled'>, string>> = {
  open: 'its outcome is unknown, and the command would resume it',
  waiting: 'its batch is waiting, and the command would resume it',
  partial: 'part of it has landed, and only --rest would send the others',
  done: 'it is done, and the command would only print the stored result',
};

/** The work of the command, whose service need not answer. */
type Planned = Pick<Work<unknown>, 'noun' | 'rest' | 'allowChanged' | 'unanswered'> & {
  readonly ask: AskDoneThere;
};

/**
 * The numbers of the elements that the command would send; `null`: all of them.
 * @throws `ERR_INPUT_INVALID` where the command would be refused; `ERR_OUTCOME_UNKNOWN` where it would not be told as done.
 */
export async function takenByDryRun(
  session: Session,
  request: OperationRequest,
  {
    noun,
    rest = false,
    allowChanged = false,
    ask,
    unanswered,
  }: Omit<Planned, 'ask'> & Pick<Work<unknown>, 'ask'>,
): Promise<readonly number[] | null> {
  const opened = await session.service().catch(() => undefined);
  const journal = await opened?.journal().catch(() => undefined);
  if (journal === undefined || ask === undefined) return null;
  // A plan needs neither a key nor a service that answers.
  const orNull =
    (one: AskDoneThere): AskDoneThere =>
    (keys) =>
      one(keys).catch((error: unknown) => {
        if (session.context.signal.aborted) throw error;
        return null;
      });
  const work: Planned = {
    ...{ noun, rest, allowChanged, ask: orNull(ask) },
    unanswered: (operation) => {
      const found = unanswered(operation);
      return found && { ...found, ask: orNull(found.ask) };
    },
  };
  const { kind, content, origin, elements } = request;
  const known = journal.known(kind, content, origin);
  if (known === undefined || request.again) {
    if (known !== undefined && kind !== 'burn')
      await requireOver(session, journal, known, { elements, ask: work.ask });
    return takenAnew(session, journal, request, work);
  }
  await askWhatIsDone(session, journal, request, work);
  return takenOf(session, journal, request, { ...work, known });
}

/** Of what the journal knows. */
async function takenOf(
  session: Session,
  journal: Journal,
  { kind, elements }: OperationRequest,
  { known, ...work }: Planned & { readonly known: Entry },
): Promise<readonly number[] | null> {
  const { state, dateBegun, dateChanged } = known;
  const { rest, ask, noun } = work;
  const isPart = known.lacking(elements).length < elements.length;
  if (state === 'cancelled' && !(isPart && rest === true)) throw wasCancelled(dateChanged, isPart);
  if ((state === 'partial' || state === 'cancelled') && rest === true) {
    // What is left of a batch that failed is ended before.
    const keys = kind === 'batch' ? [currentKey(known)] : [];
    await noteDone(session, known, { ask, keys, elements });
    const missing = known.lacking(elements).flatMap((index) => elements.slice(index, index + 1));
    const left = new Set(stillToDo(session, known, missing, noun));
    const indexes = elements.flatMap((element, index) => (left.has(element) ? [index] : []));
    await requireUnchanged(session, known, elements, indexes, work);
    return indexes;
  }
  if (state === 'cancelled') return null;
  session.output.tell(`This file was started ${dateBegun}: ${WOULD[state]}.`);
  if (state === 'waiting' || state === 'open') return goingOn(session, known, elements, work);
  const landed = new Set(journal.landed(elements));
  const noted = elements.filter(({ digest }) => landed.has(digest));
  await requireThere(session, elements, noted, () => lostThere(ask, noted));
  return [];
}

/** Of what the journal knows nothing of, or what is done anew. */
async function takenAnew(
  session: Session,
  journal: Journal,
  request: OperationRequest,
  work: Planned,
): Promise<readonly number[] | null> {
  const { kind, content, origin } = request;
  const { rest: isRest = false, noun } = work;
  const there = await askWhatIsDone(session, journal, request, work);
  const isKnown = there === 'known';
  let asked: OperationRequest | null = { ...request, isKnown };
  for (;;) {
    const stop = journal.inTheWay(asked);
    if (stop === undefined || stop.status === 'busy') break;
    if (stop.status === 'changed') throw changedElements(stop.changes, { kind, noun });
    asked = withoutOverlap(session, asked, stop.overlaps, { noun, isRest });
    if (asked === null) return [];
  }
  if (isRest && !isKnown && asked.taken === null) throw noRest();
  if (!isKnown) return asked.taken;
  session.output.tell(`This file was sent before. The command would resume it or print the stored result.`);
  const key = journal.keyOf(kind, content, origin);
  const standing: Standing = {
    ...{
      kind,
      id: '',
      key,
      state: 'open',
      notes: request.notes(null),
      hasAnswers: false,
      isNew: true,
      dateBegun: '',
    },
    answer: () => undefined,
  };
  return goingOn(session, standing, request.elements, work);
}

/** What the latest requests of an operation would still send. */
async function goingOn(
  session: Session,
  operation: Standing,
  elements: readonly Element[],
  { rest = false, ...work }: Planned,
): Promise<readonly number[] | null> {
  if (operation.kind === 'batch') {
    const at = batchStages(operation.notes).length - 1;
    const answer = await work.ask([currentKey(operation)]);
    const date = answer?.batch?.dateCancelled;
    if (date !== undefined && at === 0 && answer?.landed.length === 0) throw wasCancelled(date);
    if (date !== undefined && !rest) return [];
  }
  if (operation.notes['again'] === true) return null;
  const unanswered = work.unanswered(operation);
  if (unanswered === undefined) {
    await requireUnchanged(session, operation, elements, stagePart(operation, elements), work);
    return null;
  }
  const found = await foreseeUnchanged(session, operation, unanswered, { ...work, rest });
  if (found === null) session.output.tell(BY_NOTES);
  return found?.left ?? unanswered.requests.flatMap(({ indexes }) => indexes);
}

/** Numbers of what the batch of an operation holds. */
const stagePart = ({ notes }: Standing, elements: readonly Element[]): readonly number[] =>
  batchStages(notes).at(-1)?.indexes ?? [...elements.keys()];
