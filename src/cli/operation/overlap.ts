/** What to do when elements of a new operation are in others already: nothing, unless somebody who knows says what. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import { canAsk } from '../consent.js';
import type { OperationRequest, Overlap } from '../journal/journal.js';
import { resumeLine } from './resume-line.js';

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
  const open = overlaps.find(({ operation }) => operation.state === 'open');
  if (open !== undefined) {
    throw new FlywheelError('ERR_INPUT_INVALID', `${sentence} Nothing was sent.`, {
      hint: `First learn what came of that: ${resumeLine(session, open.operation)}. Or leave them out with --only-new.`,
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

function describe(request: OperationRequest, overlaps: readonly Overlap[], noun: string): string {
  const total = `${request.elements.length} ${noun}s`;
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
