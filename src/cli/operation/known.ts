/** Says in a dry run what the real command would find in the journal, and at its service. */
import { batchStages, stageKey } from '../batch/batch-stages.js';
import { partsOf, pick, stagesOf } from '../burn-batch/requests.js';
import type { Session } from '../command.js';
import type {
  Element,
  Journal,
  OperationRequest,
  OperationState,
  OperationSummary,
} from '../journal/journal.js';
import {
  type AskDoneThere,
  areThere,
  askWhatIsDone,
  foreseeDone,
  noteDone,
  requireThere,
} from './done-there.js';
import { changedElements, withoutOverlap } from './overlap.js';
import { noRest, wasCancelled } from './run-operation.js';

const WOULD: Readonly<Record<Exclude<OperationState, 'cancelled'>, string>> = {
  open: 'its outcome is not known, and the command would go on with it',
  waiting: 'its batch waits, and the command would go on with it',
  partial: 'it was done in part, and only --rest would send what has not landed',
  done: 'it is done, and the command would only print its outcome',
};

/** How the command is asked for. */
interface Terms {
  readonly noun: string;
  readonly isRest: boolean;
  readonly ask: AskDoneThere;
}

/**
 * The numbers of the elements that the command would send; `null`: all of them.
 * @throws `ERR_INPUT_INVALID` where the command would be refused; `ERR_OUTCOME_UNKNOWN` where it would not be told as done.
 */
export async function takenByDryRun(
  session: Session,
  request: OperationRequest,
  { noun, isRest, doneThere }: Omit<Terms, 'ask'> & { readonly doneThere: AskDoneThere },
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
  const terms = { noun, isRest, ask };
  const known = journal.known(request.kind, request.content, request.origin);
  const taken = await (known === undefined
    ? takenAnew(session, journal, request, terms)
    : takenOf(session, journal, request, { ...terms, known }));
  // What is under way goes on as it was begun.
  if (request.allowChanged || (known !== undefined && known.state !== 'partial')) return taken;
  const { changes } = journal.inTheWay({ elements: request.elements, taken });
  if (changes.length > 0) throw changedElements(changes, { kind: request.kind, noun });
  return taken;
}

/** Of what the journal knows. */
async function takenOf(
  session: Session,
  journal: Journal,
  { elements }: OperationRequest,
  { known, isRest, ask }: Terms & { readonly known: OperationSummary },
): Promise<readonly number[] | null> {
  const { state, dateBegun } = known;
  if (state === 'cancelled') throw wasCancelled(known);
  if (state === 'partial' && isRest) {
    await noteDone(session, known, { ask, keys: latestRequests(known).keys, elements });
    return numbersOf(elements, without(elements, journal.landed(elements)));
  }
  session.output.tell(`This file was begun ${dateBegun}: ${WOULD[state]}.`);
  if (state === 'waiting') return null;
  if (state === 'open') return goingOn(session, { operation: known, elements, isRest, ask });
  const landed = new Set(journal.landed(elements));
  await requireThere(session, () =>
    areThere(
      ask,
      elements.filter(({ digest }) => landed.has(digest)),
    ),
  );
  return [];
}

/** Of what the journal knows nothing of. */
async function takenAnew(
  session: Session,
  journal: Journal,
  request: OperationRequest,
  { noun, isRest, ask }: Terms,
): Promise<readonly number[] | null> {
  const { kind, content, origin, elements } = request;
  const found = await askWhatIsDone(session, journal, request, ask);
  const inTheWay = () => journal.inTheWay({ elements, taken: null }).overlaps;
  // Without these it is another request, of which its service knows nothing.
  if (found === 'known' && isRest && inTheWay().length > 0)
    await noteDone(session, request, { ask, keys: [journal.keyOf(kind, content, origin)], elements });
  const overlaps = inTheWay();
  const asked =
    overlaps.length === 0 ? request : withoutOverlap(session, request, overlaps, { noun, isRest });
  const taken = asked === null ? [] : asked.taken;
  if (isRest && taken === null) throw noRest();
  if (found !== 'known' || taken !== null) return taken;
  session.output.tell(
    `This file was asked for before: the command would go on with that, or print its outcome.`,
  );
  const operation = { kind, id: '', key: journal.keyOf(kind, content, origin), notes: request.notes(null) };
  return goingOn(session, { operation, elements, isRest, ask });
}

/** What the latest requests of an operation would still send. */
async function goingOn(
  session: Session,
  {
    operation,
    elements,
    isRest,
    ask,
  }: Omit<Terms, 'noun'> & {
    readonly operation: Pick<OperationSummary, 'kind' | 'id' | 'key' | 'notes'>;
    readonly elements: readonly Element[];
  },
): Promise<readonly number[] | null> {
  const { keys, indexes } = latestRequests(operation);
  const next = pick(elements, indexes);
  const left = await foreseeDone(session, operation, { ask, keys, elements, next, leavesOut: isRest });
  return left === null ? indexes : numbersOf(elements, left);
}

function latestRequests({ kind, key, notes }: Pick<OperationSummary, 'kind' | 'key' | 'notes'>): {
  readonly keys: readonly string[];
  readonly indexes: readonly number[] | null;
} {
  const stages = kind === 'burn-batch' ? stagesOf(notes) : batchStages(notes);
  const at = stages.length - 1;
  const stage = stagesOf(notes)[at];
  const keys =
    kind === 'burn-batch' && stage !== undefined
      ? partsOf({ key }, at, stage).map((part) => part.key)
      : [kind === 'batch' ? stageKey(key, at) : key];
  return { keys, indexes: stages[at]?.indexes ?? null };
}

const without = (elements: readonly Element[], landed: readonly string[]): readonly Element[] => {
  const gone = new Set(landed);
  return elements.filter(({ digest }) => !gone.has(digest));
};

function numbersOf(elements: readonly Element[], some: readonly Element[]): readonly number[] {
  const wanted = new Set(some);
  return elements.flatMap((element, index) => (wanted.has(element) ? [index] : []));
}
