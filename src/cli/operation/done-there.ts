/**
 * What a service itself says of the elements of a file. The journal of a machine may be lost, or older than the service: what has
 * landed is looked for by the hash of its proof before a file that the journal does not know is sent.
 */
import type { Batch, ListBatchesQuery, Pipeline } from '../../contract/schemas/batch.js';
import type { BurnRequest, BurnState, ListBurnsQuery } from '../../contract/schemas/burn.js';
import { MAX_PAGE_ITEMS } from '../../contract/schemas/page.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { JsonObject } from '../../values/canonical-json.js';
import { proofHash, type Sha256 } from '../../values/digest.js';
import { MAX_HASHES_ASKED } from '../../values/schemas.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Session } from '../command.js';
import type { Element, Entry, Journal, OperationKind, OperationRequest } from '../journal/journal.js';
import { callWith, isNotOffered } from '../send.js';
import { countText } from '../views/unit.js';
import { burnElements, pipelineElements } from './elements.js';
import { commandLine } from './resume-line.js';
import { saysNothingWasDone } from './verdicts.js';

/** What a service says of the elements of an operation. */
interface DoneThere {
  /** It knows a request by one of the keys that it was asked with, and goes on with that or answers it as before. */
  readonly isKnown: boolean;
  /** The batch of that request. */
  readonly batchId?: string;
  /** What has landed by such requests. */
  readonly ownLanded: readonly Element[];
  /** What may land yet by such requests. */
  readonly ownOpen: readonly Element[];
  /** What has its outcome, or is just being done, by such requests; the others of it would be done by going on. */
  readonly own: readonly Element[];
  /** What has landed, by whichever request. */
  readonly landed: readonly Element[];
  /** When the last of them did; `null`: none has. */
  readonly date: string | null;
  /** What may land yet. */
  readonly open: readonly Element[];
}

/** Asks a service; `null`: it cannot be asked. @param keys - those of the operation's own requests. */
export type AskDoneThere = (keys: readonly string[]) => Promise<DoneThere | null>;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}
type AskPage<Item> = (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>;

async function allOf<Item>(ask: AskPage<Item>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await ask({ limit: MAX_PAGE_ITEMS, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

/** Burns of a file, as their service has them. */
export const burnsDoneThere = (session: Session, burns: readonly BurnRequest[]): AskDoneThere =>
  orNotOffered(async (keys) => {
    const { service, call } = await calling(session);
    const list = (query: ListBurnsQuery) =>
      allOf(async (page) => (await service.listBurns({ ...query, ...page }, call())).value);
    const own = await eachOf(keys, (idempotencyKey) => list({ idempotencyKey }));
    const named = byName(burns, ({ proof }) => proof);
    const found = await eachOf(pieces(named.hashes), (hashes) => list({ proofHash: hashes }));
    const like = (burn: BurnState): readonly BurnRequest[] => {
      const asked = named.get(burn.type, burn.hash);
      return asked === undefined ? [] : [{ ...asked, burnAmount: Number(burn.amount) }];
    };
    const landed = (burn: BurnState): boolean => burn.status === 'SUCCESS';
    return {
      ...{ isKnown: own.length > 0, own: burnElements(own.flatMap(like)) },
      ownLanded: burnElements(own.filter(landed).flatMap(like)),
      ownOpen: burnElements(own.filter(({ status }) => status === 'PENDING').flatMap(like)),
      ...there(
        found.flatMap((burn) => {
          if (burn.status === 'FAILED') return [];
          const date = landed(burn) ? (burn.dateBurned ?? burn.dateCreated) : null;
          return like(burn).map((one) => ({ like: one, date }));
        }),
        burnElements,
      ),
    };
  });

/** Pipelines of a file, as their service has them in whichever batches. */
export const pipelinesDoneThere = (session: Session, pipelines: readonly Pipeline[]): AskDoneThere =>
  orNotOffered(async (keys) => {
    const { service, call } = await calling(session);
    const list = (query: ListBatchesQuery) =>
      allOf(async (page) => (await service.listBatches({ ...query, ...page }, call())).value);
    // What landed of a batch that was cancelled is found like that of any other, and nothing goes on with it.
    const own = (await eachOf(keys, (idempotencyKey) => list({ idempotencyKey }))).filter(
      ({ dateCancelled }) => dateCancelled === undefined,
    );
    const named = byName(pipelines, ({ payload }) => parseStrictJson(payload).value as JsonObject);
    const found = await eachOf(pieces(named.hashes), async (hashes) =>
      eachOf(await list({ proofHash: hashes }), async (batch) => {
        const asked = { batchId: batch.id, proofHash: hashes };
        const states = await allOf(
          async (page) => (await service.batchPipelines({ ...asked, ...page }, call())).value,
        );
        return states.flatMap((state) => {
          const like = named.get(state.type, state.proofHash);
          const hasLanded = state.state === 'EXECUTED';
          // What is left of a batch that failed can be executed by its members until it is cancelled.
          if (like === undefined || (!hasLanded && isOver(batch))) return [];
          const date = hasLanded ? (state.dateExecuted ?? batch.dateUpdated) : null;
          return [{ batch, like: { ...like, actions: state.actions }, date }];
        });
      }),
    );
    const ownIds = new Set(own.map(({ id }) => id));
    const ownOf = (isLanded: boolean) =>
      pipelineElements(
        found.flatMap(({ batch, like, date }) =>
          ownIds.has(batch.id) && (date !== null) === isLanded ? [like] : [],
        ),
      );
    const ownLanded = ownOf(true);
    const [batch] = own;
    return {
      ...{ isKnown: batch !== undefined, own: ownLanded, ownLanded, ownOpen: ownOf(false) },
      ...there(found, pipelineElements),
      ...(batch === undefined ? {} : { batchId: batch.id }),
    };
  });

const isOver = ({ status, dateCancelled }: Batch): boolean =>
  status === 'EXECUTED' || dateCancelled !== undefined;

/** What is found for each, one after the other. */
async function eachOf<One, Found>(
  all: readonly One[],
  find: (one: One) => Promise<readonly Found[]>,
): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const one of all) found.push(...(await find(one)));
  return found;
}

async function calling(session: Session) {
  const opened = await session.service();
  return { service: opened.service, call: () => callWith(session, opened) };
}

/** Finds the first element of a file with a type and a proof. */
function byName<Item extends { readonly type: string }>(
  items: readonly Item[],
  proofOf: (item: Item) => JsonObject,
) {
  const names = new Map<string, Item>();
  const hashes = new Set<string>();
  for (const item of items) {
    const hash = proofHash(proofOf(item));
    hashes.add(hash);
    if (!names.has(`${hash} ${item.type}`)) names.set(`${hash} ${item.type}`, item);
  }
  return {
    hashes: [...hashes],
    get: (type: string, hash: string): Item | undefined => names.get(`${hash} ${type}`),
  };
}

/** Hashes as one question takes them. */
const pieces = (hashes: readonly string[]): readonly string[] =>
  Array.from({ length: Math.ceil(hashes.length / MAX_HASHES_ASKED) }, (_, at) =>
    hashes.slice(at * MAX_HASHES_ASKED, (at + 1) * MAX_HASHES_ASKED).join(','),
  );

/** Those that have landed come first, so that of equal ones the first have. @param found - without a date: it may land yet. */
function there<Item>(
  found: readonly { readonly like: Item; readonly date: string | null }[],
  elementsOf: (items: readonly Item[]) => readonly Element[],
): Pick<DoneThere, 'landed' | 'date' | 'open'> {
  const dates = found.flatMap(({ date }) => date ?? []);
  const ordered = [
    ...found.filter(({ date }) => date !== null),
    ...found.filter(({ date }) => date === null),
  ];
  const elements = elementsOf(ordered.map(({ like }) => like));
  return {
    landed: elements.slice(0, dates.length),
    date: dates.sort().at(-1) ?? null,
    open: elements.slice(dates.length),
  };
}

const orNotOffered =
  (ask: AskDoneThere): AskDoneThere =>
  async (keys) => {
    try {
      return await ask(keys);
    } catch (error) {
      if (!isNotOffered(error)) throw error;
      return null;
    }
  };

/** What is to be compared with what its service says. */
interface Compared {
  readonly kind: OperationKind;
  /** All that there are of the file. */
  readonly elements: readonly Element[];
  /** Those that have landed by the operation itself and are not noted as landed yet. */
  readonly own?: readonly Sha256[];
  /** Of the operation, where the journal has it. */
  readonly id?: string;
}

/**
 * Holds the notes of this machine against what a service says, and notes what has landed by hands of which the journal knew nothing.
 * @throws `ERR_INPUT_INVALID` for what may land by other hands; `ERR_OUTCOME_UNKNOWN` for what has landed by the notes of this
 * machine, and of which the service does not know.
 */
async function compare(
  session: Session,
  journal: Journal,
  { kind, elements, own = [], id }: Compared,
  answer: DoneThere,
): Promise<void> {
  const noted = new Set([...journal.landed(elements), ...own]);
  const there = countBy([...answer.landed, ...answer.open]);
  const lost = [...countBy(elements.filter(({ digest }) => noted.has(digest)))].filter(
    ([content, count]) => count > (there.get(content) ?? 0),
  );
  if (lost.length > 0) throw notThere(`${lost.length} of ${countText(elements.length, 'element')}`);
  const before = new Set(journal.landed(answer.landed));
  const news = unknownOf(elements, noted, answer.landed).filter(({ digest }) => !before.has(digest));
  if (answer.date !== null && news.length > 0) journal.noteLanded(kind, news, answer.date);
  const known = new Set([...noted, ...before, ...news.map(({ digest }) => digest)]);
  const ofOwn = new Set(firstOf(answer.open, countBy(answer.ownOpen)));
  const ofOthers = answer.open.filter((element) => !ofOwn.has(element));
  const open = unknownOf(elements, known, [...answer.landed, ...ofOthers]);
  if (open.every(({ digest }) => journal.isOpen(digest, id))) return;
  const { isOnThisMachine } = await session.service();
  const words = isOnThisMachine && kind !== 'batch' ? ['pending', 'resume'] : LISTS[kind];
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${open.length} of ${countText(elements.length, 'element')} are part of another request that the service has not finished. Nothing was sent.`,
    {
      // Of an operation that goes on it says all that there is to say.
      keyUnused: false,
      hint: `Bring that to its end first: \`${commandLine(session.settings, ...words)}\`.`,
    },
  );
}

const LISTS: Readonly<Record<OperationKind, readonly string[]>> = {
  burn: ['burn', 'list'],
  'burn-batch': ['burn', 'list'],
  batch: ['batch', 'list'],
};

/** How many there are of each content. */
function countBy(elements: readonly Element[]): Map<Sha256, number> {
  const counts = new Map<Sha256, number>();
  for (const { content } of elements) counts.set(content, (counts.get(content) ?? 0) + 1);
  return counts;
}

/** The first ones, as many as there are of each content. */
function firstOf(elements: readonly Element[], counts: ReadonlyMap<Sha256, number>): readonly Element[] {
  const left = new Map(counts);
  return elements.filter(({ content }) => {
    const more = left.get(content) ?? 0;
    left.set(content, more - 1);
    return more > 0;
  });
}

/** Those of a file, beside the known ones, that a service has; and what it has of others about the same. */
function unknownOf(
  elements: readonly Element[],
  known: ReadonlySet<Sha256>,
  there: readonly Element[],
): readonly Element[] {
  const left = countBy(there);
  for (const [content, count] of countBy(elements.filter(({ digest }) => known.has(digest))))
    left.set(content, (left.get(content) ?? 0) - count);
  const inFile = firstOf(
    elements.filter(({ digest }) => !known.has(digest)),
    left,
  );
  const contents = new Set(elements.map(({ content }) => content));
  return [...inFile, ...there.filter(({ content, digest }) => !contents.has(content) && !known.has(digest))];
}

/**
 * Before a file is begun of which the journal knows nothing.
 * @returns whether all of it was looked up; `known`: the service knows its first request.
 * @throws as {@link compare}
 */
export async function askWhatIsDone(
  session: Session,
  journal: Journal,
  { kind, content, origin, elements, again }: OperationRequest,
  ask: AskDoneThere | undefined,
): Promise<boolean | 'known'> {
  if (ask === undefined || again || journal.known(kind, content, origin) !== undefined) return false;
  const answer = await ask([journal.keyOf(kind, content, origin)]);
  if (answer === null) {
    session.output.tell(BY_NOTES);
    return false;
  }
  if (answer.isKnown) return 'known';
  await compare(session, journal, { kind, elements }, answer);
  return true;
}

/** Of an operation that was begun before. */
interface GoingOn extends Omit<Compared, 'kind' | 'id'> {
  readonly ask: AskDoneThere;
  /** Of its requests that have no answer yet. */
  readonly keys: readonly string[];
  /** What these would send. */
  readonly next: readonly Element[];
  /** They are all of a rest. */
  readonly isRest?: boolean;
}

/** What of the requests of an operation has no outcome yet, and which of that others have landed; `null`: nobody can be asked. */
async function lookUp(
  session: Session,
  { kind, id }: Pick<Entry, 'kind' | 'id'>,
  { ask, keys, next, own = [], elements }: GoingOn,
) {
  const answer = await ask(keys);
  if (answer === null) return null;
  const journal = await (await session.service()).journal();
  const ownLanded = firstOf(next, countBy(answer.ownLanded)).map(({ digest }) => digest);
  await compare(session, journal, { kind, id, elements, own: [...own, ...ownLanded] }, answer);
  const settled = new Set(firstOf(next, countBy(answer.own)));
  const left = next.filter((element) => !settled.has(element));
  return { answer, left, done: new Set(journal.landed(left)) };
}

/**
 * Before a request of an operation goes out that was begun before: others may have done it meanwhile.
 * @returns whether it was looked up.
 * @throws as {@link compare}; `ERR_INPUT_INVALID` where others have done some of it
 */
export async function requireNotDone(session: Session, entry: Entry, going: GoingOn): Promise<boolean> {
  // Somebody has said that all of it is done once more.
  if (entry.notes['again'] === true) return true;
  const found = await lookUp(session, entry, going);
  if (found === null || found.done.size === 0) return found !== null;
  const { isRest = false } = going;
  const keyUnused = !found.answer.isKnown && (isRest || !entry.hasAnswers);
  const kept = entry.isNew && !entry.hasAnswers ? '' : entry.id;
  if (keyUnused && isRest) takeBack(entry);
  const hint = keyUnused ? othersHint(entry) : wayOut(session, entry.kind, kept, found.answer);
  throw doneByOthers(`${found.done.size} of ${countText(going.next.length, 'element')}`, { keyUnused, hint });
}

/**
 * What an operation would still send, for a dry run of it; `null`: nobody can be asked.
 * @param leavesOut - what others have landed, where its service has seen none of its requests.
 * @throws as {@link requireNotDone}
 */
export async function foreseeDone(
  session: Session,
  { kind, id, notes }: Pick<Entry, 'kind' | 'id' | 'notes'>,
  { leavesOut, ...going }: GoingOn & { readonly leavesOut: boolean },
): Promise<readonly Element[] | null> {
  if (notes['again'] === true) return null;
  const found = await lookUp(session, { kind, id }, going);
  if (found === null) {
    session.output.tell(BY_NOTES);
    return null;
  }
  const { answer, left, done } = found;
  const keyUnused = !answer.isKnown;
  if (done.size === 0 || (leavesOut && keyUnused)) return left.filter(({ digest }) => !done.has(digest));
  const hint = keyUnused ? othersHint({ kind }) : wayOut(session, kind, id, answer);
  throw doneByOthers(`${done.size} of ${countText(going.next.length, 'element')}`, { keyUnused, hint });
}

const doneByOthers = (
  what: string,
  options: { readonly keyUnused: boolean; readonly hint: string },
): FlywheelError =>
  new FlywheelError(
    'ERR_INPUT_INVALID',
    `${what} that this operation would send have landed by another request. Nothing was sent.`,
    options,
  );

/** A rest that its service has never seen was not begun. */
function takeBack(entry: Entry): void {
  const { stages } = entry.notes;
  entry.note({ stages: (stages as readonly unknown[]).slice(0, -1) });
  entry.settle({ state: 'partial', landed: [] });
  entry.markPrinted();
}

const othersHint = ({ kind }: Pick<Entry, 'kind'>): string =>
  kind === 'burn' ? 'Do it once more with --again.' : 'The same command with --rest sends the others.';

/** How to end what its service has begun, and may go on with. @param id - of the operation, where the journal keeps one. */
function wayOut({ settings }: Session, kind: OperationKind, id: string, { batchId }: DoneThere): string {
  if (batchId !== undefined)
    return `End the batch that is set up for it: \`${commandLine(settings, 'batch', 'cancel', batchId)}\`. Then the same command with --rest sends the others.`;
  const forget = id === '' ? '' : `, then \`${commandLine(settings, 'pending', 'forget', id)}\`,`;
  return `See what has landed: \`${commandLine(settings, ...LISTS[kind])}\`${forget} and put the others into a file of their own.`;
}

/**
 * Before a rest is put together: what others have done of the file since.
 * @throws as {@link compare}
 */
export async function noteDone(
  session: Session,
  { kind, id }: Pick<Entry, 'kind'> & Partial<Pick<Entry, 'id'>>,
  { ask, keys = [], ...compared }: Omit<GoingOn, 'keys' | 'next' | 'isRest'> & Partial<Pick<GoingOn, 'keys'>>,
) {
  const answer = await ask(keys);
  if (answer === null) return session.output.tell(BY_NOTES);
  const journal = await (await session.service()).journal();
  await compare(session, journal, { ...compared, kind, ...(id !== undefined && { id }) }, answer);
}

const BY_NOTES = 'This service does not say what it has done; this machine goes by its own notes.';

/** How long the outcome of what is done waits for another word of its service. */
const PATIENCE_MS = 5_000;

/**
 * Before something is told as done that was not asked for just now: does the service know of it? Where it does not say so soon, the
 * notes are told as what they are.
 * @throws `ERR_OUTCOME_UNKNOWN`
 */
export async function requireThere(
  session: Session,
  ask: () => Promise<'not offered' | 'there' | 'lost'>,
): Promise<void> {
  const { signal } = session.context;
  const found = await soon(ask()).catch((error: unknown) => {
    if (signal.aborted) throw error;
    return null;
  });
  if (found === 'lost') throw notThere('what was done');
  if (found !== 'there') session.output.tell(BY_NOTES);
}

/** What is said soon; else `null`. */
const soon = <Value>(said: Promise<Value>): Promise<Value | null> =>
  Promise.race([
    said,
    new Promise<null>((resolve) => {
      setTimeout(() => resolve(null), PATIENCE_MS).unref();
    }),
  ]);

/** Are all of these among what a service has done, or may do yet? */
export async function areThere(
  ask: AskDoneThere,
  elements: readonly Element[],
): Promise<'not offered' | 'there' | 'lost'> {
  const answer = await ask([]);
  if (answer === null) return 'not offered';
  const there = countBy([...answer.landed, ...answer.open]);
  const isLost = [...countBy(elements)].some(([content, count]) => count > (there.get(content) ?? 0));
  return isLost ? 'lost' : 'there';
}

/**
 * An answer may be one to an earlier request, which something before the service has kept.
 * @param isNamed - it names the request that it is for: then it is believed where the service cannot be asked.
 * @throws `ERR_OUTCOME_UNKNOWN` where the service has not sent the transaction under the key.
 */
export async function requireAnswersKey(
  session: Session,
  asked: { readonly idempotencyKey: string; readonly txHash: string },
  isNamed: boolean,
): Promise<void> {
  const opened = await session.service();
  if (opened.kind !== 'remote') return;
  const said = opened.service.listBurns({ ...asked, limit: 1 }, callWith(session, opened)).then(
    ({ value }) => value.items,
    (error: unknown) => {
      if (!isNamed && !isNotOffered(error)) throw error;
      return null;
    },
  );
  const items = await (isNamed ? soon(said) : said);
  if (items === null || items.length > 0) return;
  throw new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The answer names transaction ${asked.txHash}, and the service has not sent that for this request.`,
  );
}

/**
 * A refusal may come from whatever stands before a service. @throws `ERR_OUTCOME_UNKNOWN` where the service has burned, or may yet
 * burn, for the request that was refused.
 */
export async function requireRefused(session: Session, key: string, refusal: unknown): Promise<void> {
  const opened = await session.service();
  if (opened.kind !== 'remote' || !isFlywheelError(refusal)) return;
  const { status = 0, options } = refusal;
  if (status < 400 || status >= 500 || options.unsent === true || !saysNothingWasDone(refusal)) return;
  const asked = { idempotencyKey: key, limit: MAX_PAGE_ITEMS };
  const items = await opened.service.listBurns(asked, callWith(session, opened)).then(
    ({ value }) => value.items,
    () => [],
  );
  if (items.every(({ status }) => status === 'FAILED')) return;
  throw new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The request was refused, and the service has begun it: ${refusal.message}`,
    { cause: refusal },
  );
}

const notThere = (what: string): FlywheelError =>
  new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `By the notes of this machine ${what} has landed, and this service knows nothing of it. It may have been restored to an earlier state, or be another one.`,
    { hint: 'See what is on chain. Only if it is not there, send all of it anew with --again.' },
  );
