/** Refuses elements of a new operation that other operations have already, unless an option says what to do with them. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { batchStages } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import { cancelLine, executeOrCancel } from '../hints.js';
import {
  type Element,
  type Entry,
  isOver,
  type Journal,
  type Notes,
  type OperationKind,
  type OperationRequest,
  type Overlap,
  type Refused,
} from '../journal/journal.js';
import { countText } from '../views/unit.js';
import { namedText, nounOf, pick } from './elements.js';
import { commandLine, resumeLine } from './resume-line.js';
import { notSent } from './verdicts.js';

/**
 * For `--rest`: the request without elements that other operations landed; `null`: nothing is left. @throws `ERR_INPUT_INVALID`
 */
export async function withoutOverlap(
  session: Session,
  request: OperationRequest,
  { overlaps, changes }: Refused,
  isRest: boolean,
): Promise<OperationRequest | null> {
  const { elements, taken, kind, allowChanged, isKnown = false } = request;
  if (overlaps.length === 0) throw changedElements(changes, kind, (taken ?? elements).length);
  const noun = nounOf(kind);
  const sentence = describe(elements.length, overlaps, noun);
  const changed =
    changes.length === 0 ? '' : ` ${countText(changes.length, noun)} landed before ${otherwise(kind)}.`;
  const open = overlaps.find(({ hasLanded }) => !hasLanded);
  if (isRest && !isKnown && open === undefined) {
    const left = withoutThose(overlaps, elements, taken ?? [...elements.keys()]);
    const also = allowChanged && changed !== '' ? `${changed} The full new amount is sent on top.` : '';
    session.output.tell(`${sentence} They are skipped.${also}`);
    return left.length === 0 ? null : { ...request, taken: left };
  }
  if (open !== undefined && kind === 'burn') throw unfinishedBurn(session, open);
  const unfinished = open ?? overlaps.find(({ operation }) => !operation.printed);
  const hint =
    unfinished === undefined
      ? sendingHint(elements.length - overlaps.length - changes.length, changes.length, noun)
      : await wayOut(session, unfinished);
  throw notSent(`${sentence}${changed}`, hint);
}

const otherwise = (kind: OperationKind): string =>
  kind === 'batch' ? 'with another amount, recipient or action' : 'with another amount';

const correctAmount = (noun: string): string =>
  `What landed cannot be taken back. To add to it, keep the earlier ${noun} in the file, add one for the difference, and use --rest.`;

/** The way that pays nobody twice comes first. */
function sendingHint(news: number, changed: number, noun: string): string {
  const first = changed === 0 ? '' : ' take the changed ones out of the file and';
  return [
    ...(news > 0 ? [`To send only the ${countText(news, `new ${noun}`)},${first} add --rest.`] : []),
    ...(changed === 0
      ? []
      : [
          correctAmount(noun),
          '--rest --allow-changed also sends the changed ones in full, on top of the earlier amount.',
        ]),
    '--again sends everything again.',
  ].join(' ');
}

/**
 * An unfinished operation is not resumed where an element with another amount or recipient has landed since, unless that was
 * allowed.
 * @param indexes - of the elements to send or execute.
 */
export async function requireUnchanged(
  session: Session,
  operation: Entry,
  elements: readonly Element[],
  indexes: readonly number[],
  { allowChanged = false }: { readonly allowChanged?: boolean | undefined },
): Promise<void> {
  const { kind, notes, id, state, isNew, since } = operation;
  // Consent given with an operation ends with it.
  if (allowChanged || since > 0 || (!isOver(state) && notes['allowChanged'] === true)) return;
  const journal = await (await session.service()).journal();
  const changes = journal.changes(elements, indexes);
  if (changes.length === 0) return;
  const error = changedElements(changes, kind, indexes.length).with({ keyUnused: false });
  if (isNew || isOver(state)) throw error;
  const batchId = batchStages(notes).at(-1)?.batchId;
  const { settings } = session;
  const drop =
    batchId === undefined
      ? `\`${commandLine(settings, 'pending', 'forget', id)}\``
      : cancelLine(session, batchId);
  const also =
    kind === 'burn'
      ? 'Add --again to burn this amount too'
      : 'Add --allow-changed to send the full new amount too';
  throw error.with({ hint: `${also}. To drop this operation: ${drop}` });
}

/** @param count - of all elements to send */
function changedElements(changes: Refused['changes'], kind: OperationKind, count: number): FlywheelError {
  const noun = nounOf(kind);
  const [first] = changes;
  if (kind === 'burn' && first !== undefined)
    return notSent(
      `A burn with this type and proof landed on ${first.date.slice(0, 10)} ${otherwise(kind)}.`,
      'Add --again to burn this amount too.',
    );
  const news = count - changes.length;
  const named = namedText(changes.map(({ index, date }) => `${noun} ${index + 1} (${date.slice(0, 10)})`));
  return notSent(
    `${countText(changes.length, noun)} landed before ${otherwise(kind)}: ${named}.`,
    `${news === 0 ? '' : `To send only the ${countText(news, `new ${noun}`)}, take the changed ones out of the file. `}${correctAmount(noun)} --allow-changed sends the full new amount on top of the earlier one. --again sends the whole file again.`,
  );
}

interface Rest {
  /** Of the whole file. */
  readonly all: readonly Element[];
  readonly indexes: readonly number[];
  readonly allowChanged: boolean;
}

/**
 * Those of a rest that no other operation landed meanwhile.
 * @throws `ERR_INPUT_INVALID` when another operation may still land one of them, or as {@link requireUnchanged}
 */
export async function leftOfRest(session: Session, entry: Entry, rest: Rest) {
  const { all, indexes } = rest;
  const overlaps = entry.elsewhere(pick(all, indexes));
  const skipped = overlaps.length === 0 ? null : describe(indexes.length, overlaps, nounOf(entry.kind));
  const open = overlaps.find(({ hasLanded }) => !hasLanded);
  if (skipped !== null && open !== undefined) throw notSent(skipped, await wayOut(session, open));
  const left = withoutThose(overlaps, all, indexes);
  if (left.length > 0) await requireUnchanged(session, entry, all, left, rest);
  return { left, skipped };
}

/** Starts the rest of an operation. @returns false where nothing is left. @throws as {@link leftOfRest} */
export async function beginRest(
  session: Session,
  entry: Entry,
  rest: Rest & {
    readonly hasLanded?: readonly Sha256[];
    notes(left: readonly number[]): Notes | Promise<Notes>;
  },
): Promise<boolean> {
  const { all, hasLanded } = rest;
  const { left, skipped } = await leftOfRest(session, entry, rest);
  if (skipped !== null) session.output.tell(`${skipped} They are skipped.`);
  if (left.length === 0) return false;
  const consent = { allowChanged: rest.allowChanged, ...(entry.since === 0 && { again: undefined }) };
  if (entry.reopen(pick(all, left), { ...(await rest.notes(left)), ...consent }, hasLanded)) return true;
  throw new FlywheelError(
    'ERR_TIMEOUT',
    'Another process has just started to send the rest. This command sent nothing.',
    { hint: 'Run the command again.' },
  );
}

/** By any operation, also with another amount or recipient. */
export const hasLandedInPart = (journal: Journal, elements: readonly Element[]): boolean =>
  journal.landed(elements).size > 0 || journal.changes(elements, [...elements.keys()]).length > 0;

/** Its hint pays nothing twice. @param elements - of the whole file */
export function wasCancelled(
  journal: Journal,
  elements: readonly Element[],
  date: string,
  isKeyed = false,
): FlywheelError {
  const [option, purpose] = hasLandedInPart(journal, elements)
    ? ['--rest', 'send only what other batches have not landed']
    : ['--again', 'run the file anyway'];
  return notSent(
    `The batch of this file was cancelled on ${date.slice(0, 10)}.${option === '--rest' ? '' : ' None of its transactions was executed.'}`,
    `Add ${option}${isKeyed ? ' in place of --idempotency-key' : ''} to ${purpose}.`,
  );
}

function withoutThose(
  overlaps: readonly Overlap[],
  elements: readonly Element[],
  indexes: readonly number[],
): readonly number[] {
  const elsewhere = new Set<string>(overlaps.map(({ digest }) => digest));
  return indexes.filter((index) => !elsewhere.has(elements[index]?.digest ?? ''));
}

const unfinishedBurn = (session: Session, { date, operation }: Overlap): FlywheelError =>
  notSent(
    `The outcome of an earlier operation with this type and proof is unknown (last change ${date}).`,
    `Resume it: ${resumeLine(session, operation)}`,
  );

async function wayOut(session: Session, { operation }: Overlap): Promise<string> {
  if (!operation.printed && isOver(operation.state)) {
    const forget = commandLine(session.settings, 'pending', 'forget', operation.id);
    return `Print the other operation first: \`${resumeLine(session, operation)}\`. Or drop its result: \`${forget}\`.`;
  }
  if (operation.state === 'open' || operation.kind === 'burn')
    return `Resume the other operation: ${resumeLine(session, operation)}`;
  const batchId = batchStages(operation.notes).at(-1)?.batchId ?? '';
  // `pending` lists it by its batch.
  return operation.state === 'waiting'
    ? executeOrCancel(session, batchId)
    : `Cancel the other batch: ${cancelLine(session, batchId)}`;
}

function describe(count: number, overlaps: readonly Overlap[], noun: string): string {
  const total = `${count} ${noun}s`;
  const landed = overlaps.filter(({ hasLanded }) => hasLanded);
  const dates = landed.map(({ date }) => date.slice(0, 10)).sort();
  const [first, last] = [dates[0], dates.at(-1)];
  const when = first === last ? `on ${first}` : `from ${first} to ${last}`;
  const others = overlaps.length - landed.length;
  return [
    ...(landed.length === 0 ? [] : [`${landed.length} of ${total} landed before, ${when}.`]),
    ...(others === 0 ? [] : [`${others} of ${total} belong to an unfinished operation.`]),
  ].join(' ');
}
