/** What to do when elements of a new operation are in others already: nothing, unless somebody who knows says what. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { batchStages } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import { canAsk } from '../consent.js';
import type { Entry, OperationRequest, Overlap } from '../journal/journal.js';
import { agreedLine, resumeLine } from './resume-line.js';

/** How to ask for an operation of which some elements are left out. */
export interface Narrowing {
  /** What people call an element: "burn", "pipeline". */
  readonly noun: string;
  /** `--only-new` was given. */
  readonly onlyNew: boolean;
  /** The request without these elements; `null` when nothing is left of it. */
  without(digests: ReadonlySet<Sha256>): OperationRequest | null;
}

/**
 * The request to go on with; `null` when all of it has been done.
 * @throws `ERR_INPUT_INVALID` or `ERR_DECLINED`; nothing was sent.
 */
export async function resolveOverlap(
  session: Session,
  request: OperationRequest,
  overlaps: readonly Overlap[],
  narrowing: Narrowing,
): Promise<OperationRequest | null> {
  const narrowed = (): OperationRequest | null =>
    narrowing.without(new Set(overlaps.map(({ digest }) => digest)));
  const sentence = describe(request, overlaps, narrowing.noun);
  if (narrowing.onlyNew) {
    session.output.tell(`${sentence} They are left out.`);
    return narrowed();
  }
  const open = overlaps.find(({ hasLanded }) => !hasLanded);
  if (open !== undefined) {
    if (request.kind === 'burn') throw unfinishedBurn(session, open);
    throw new FlywheelError('ERR_INPUT_INVALID', `${sentence} Nothing was sent.`, {
      hint: `Leave them out with --only-new. ${wayOut(session, open)}`,
    });
  }
  const left = request.elements.length - overlaps.length;
  if (left === 0 || !canAsk(session)) {
    throw new FlywheelError('ERR_INPUT_INVALID', `${sentence} Nothing was sent.`, {
      hint:
        left === 0
          ? 'Do it once more with --again.'
          : 'Leave them out with --only-new, or do all of it once more with --again.',
    });
  }
  session.output.progress.clear();
  session.output.show(sentence);
  const answer = await session.context.io.prompt(`Leave them out and go on with the other ${left}? [y/N] `);
  if (answer !== null && /^y(es)?$/i.test(answer.trim())) return narrowed();
  throw new FlywheelError('ERR_DECLINED', 'Declined; nothing was sent.', {
    hint: 'All of it once more: --again.',
  });
}

/**
 * The elements of a rest without those that other operations have landed meanwhile, or may land yet.
 * @throws `ERR_INPUT_INVALID` when what came of one of them is not known; nothing was sent.
 */
export function stillToDo(
  session: Session,
  entry: Entry,
  elements: readonly Sha256[],
  noun: string,
): ReadonlySet<Sha256> {
  const overlaps = entry.elsewhere(elements);
  if (overlaps.length === 0) return new Set(elements);
  const sentence = describe({ elements }, overlaps, noun);
  const other = overlaps.find(({ hasLanded }) => !hasLanded);
  if (other !== undefined) {
    throw new FlywheelError('ERR_INPUT_INVALID', `${sentence} Nothing was sent.`, {
      hint: wayOut(session, other),
    });
  }
  session.output.tell(`${sentence} They are left out.`);
  const elsewhere = new Set(overlaps.map(({ digest }) => digest));
  return new Set(elements.filter((digest) => !elsewhere.has(digest)));
}

const unfinishedBurn = (session: Session, { date, operation }: Overlap): FlywheelError =>
  new FlywheelError(
    'ERR_INPUT_INVALID',
    `The outcome of an earlier operation with the same burn (last changed ${date}) is unknown. Nothing was sent.`,
    { hint: `This resumes safely: ${resumeLine(session, operation)}` },
  );

/** How to come to know whether an element lands by another operation. */
function wayOut(session: Session, { operation }: Overlap): string {
  if (operation.state === 'open' || operation.kind === 'burn')
    return `To learn what came of the other: ${resumeLine(session, operation)}`;
  const batchId = batchStages(operation.notes).at(-1)?.batchId ?? '';
  return `To end the other: ${agreedLine(session.settings, 'batch', 'cancel', batchId)}`;
}

function describe(
  { elements }: Pick<OperationRequest, 'elements'>,
  overlaps: readonly Overlap[],
  noun: string,
): string {
  const total = `${elements.length} ${noun}s`;
  const landed = overlaps.filter(({ hasLanded }) => hasLanded);
  const dates = landed.map(({ date }) => date.slice(0, 10)).sort();
  const [first, last] = [dates[0], dates.at(-1)];
  const when = first === last ? `on ${first}` : `from ${first} to ${last}`;
  const others = overlaps.length - landed.length;
  return [
    ...(landed.length === 0 ? [] : [`${landed.length} of ${total} have landed before, ${when}.`]),
    ...(others === 0 ? [] : [`${others} of ${total} are part of an operation that is not over.`]),
  ].join(' ');
}
