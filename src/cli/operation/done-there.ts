/**
 * Compares an operation with the service, because the journal may be lost or older: before a new file is sent, and before an
 * unfinished one is resumed.
 */
import { MAX_PAGE_ITEMS } from '../../contract/limits.js';
import type { Batch, ListedBatch, Pipeline } from '../../contract/schemas/batch.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { AnswerOf, InputOf } from '../../contract/service.js';
import type { ErrorCode } from '../../errors/codes.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';
import type { JsonObject } from '../../values/canonical-json.js';
import { proofHash, type Sha256 } from '../../values/digest.js';
import { MAX_HASHES_ASKED } from '../../values/key-terms.js';
import { parseStrictJson } from '../../values/strict-json.js';
import { grouped } from '../../values/token-amount.js';
import { batchStages } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';
import { cancelLine, executeOrCancel } from '../hints.js';
import {
  type Element,
  type Entry,
  isAlwaysNew,
  isOver,
  type Journal,
  type OperationKind,
  type OperationRequest,
} from '../journal/journal.js';
import { callWith, canBeDoneWithout, isNotOffered, isUnoffered, soon } from '../send.js';
import { countText } from '../views/unit.js';
import { burnElements, namedText, nounOf, pick, pipelineElements } from './elements.js';
import { hasLandedInPart, requireUnchanged, wasCancelled } from './overlap.js';
import { commandLine } from './resume-line.js';
import type { Work } from './run-operation.js';
import { notSent, outcomeUnknown, saysNothingWasDone, withoutNothingSent } from './verdicts.js';

/** A burn or pipeline of the service with the type and proof of an element. */
export interface Found {
  readonly element: Element;
  /** `open`: it may still land. */
  readonly state: 'landed' | 'open' | 'failed';
  /** By a request with one of the requested keys. */
  readonly isOwn: boolean;
  /** The batch, or the transaction of the burn. */
  readonly id: string;
  readonly date: string;
}

interface DoneThere {
  /** Keys that the service knows. */
  readonly known: ReadonlySet<string>;
  readonly batch?: ListedBatch | undefined;
  /** Landed ones first: among equal elements they have the lower indexes. */
  readonly found: readonly Found[];
  readonly landed: readonly Element[];
  readonly open: readonly Found[];
  /** Burns that were done, and that a fork took back, or that the key may not see; a pipeline that waits has never landed. */
  readonly resent: readonly Element[];
  /** What had landed according to the journal before the service was asked: another process may land the others meanwhile. */
  readonly noted: ReadonlySet<Sha256>;
}

/** `null`: the service cannot be asked. @param keys - of the operation's own requests. @param since - of the operation. */
export type AskDoneThere = (keys: readonly string[], since?: number) => Promise<DoneThere | null>;

export async function allOf<Item>(
  ask: (page: {
    readonly limit: number;
    readonly cursor?: string;
  }) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await ask({ limit: MAX_PAGE_ITEMS, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    cursor = page.nextCursor;
  }
  return items;
}

const BURN_STATES = { SUCCESS: 'landed', PENDING: 'open', FAILED: 'failed' } as const;

/** By the clock of the service: those of the client and of the request may be wrong by weeks. */
const MS_PER_DAY = 86_400_000;

/** @param isEachNew - equal burns are told apart by their keys alone, which the service keeps for at least a day */
export const burnsDoneThere = (
  session: Session,
  burns: readonly BurnRequest[],
  isEachNew = false,
): AskDoneThere =>
  orNull(
    session,
    () => burnElements(burns),
    async (keys, noted, elements) => {
      const { service, call } = await calling(session);
      let nowMs = session.context.clock.nowMs();
      const list = (query: InputOf<'listBurns'>) =>
        allOf(async (page) => {
          const { value, meta } = await service.listBurns({ ...query, ...page }, call());
          nowMs = meta.serverTimeMs ?? nowMs;
          return value;
        });
      const isKeyKept = (dateCreated: string): boolean => {
        const ageMs = nowMs - Date.parse(dateCreated);
        return ageMs >= -MS_PER_DAY / 2 && ageMs <= MS_PER_DAY;
      };
      const named = byName(burns, ({ proof }) => proofHash(proof));
      const others = await eachOf(named.hashes, (hashes) => list({ proofHash: hashes }));
      const { known, own } = await byKey(keys, (idempotencyKey) => list({ idempotencyKey }));
      const ownHashes = new Set(own.map(({ txHash }) => txHash));
      const all = new Map([...others, ...own].map((burn) => [burn.txHash, burn]));
      const found = [...all.values()].flatMap(({ type, hash, amount, status, txHash, ...burn }) => {
        const asked = named.get(type, hash);
        const isOwn = ownHashes.has(txHash);
        if (asked === undefined || (isEachNew && !isOwn && isKeyKept(burn.dateCreated))) return [];
        return {
          ...{ item: { ...asked, burnAmount: Number(amount) }, state: BURN_STATES[status] },
          ...{ isOwn, id: txHash, date: burn.dateBurned ?? burn.dateCreated },
        };
      });
      const listed = numbered(found, burnElements);
      const lost = lostOf(
        elements.filter(({ digest }) => noted.has(digest)),
        [...listed.landed, ...elementsOf(listed.open)],
      );
      const hidden = lost.length === 0 ? [] : await hiddenOf(session, burns);
      if (hidden.length > 0)
        tellByNotes(session, `${NOT_SEEN} For those, only the journal of this machine was checked.`);
      return { known, ...listed, resent: [...elementsOf(listed.open), ...hidden] };
    },
  );

const hashOf = ({ payload }: Pipeline): string => proofHash(parseStrictJson(payload).value as JsonObject);

/** @param hashes - of the proofs; @default those of the payloads, which a service may leave out */
export const pipelinesDoneThere = <Asked extends Pipeline>(
  session: Session,
  pipelines: readonly Asked[],
  hashes: (pipeline: Asked) => string = hashOf,
): AskDoneThere =>
  orNull(
    session,
    () => pipelineElements(pipelines),
    async (keys) => {
      const { service, call } = await calling(session);
      const list = (query: InputOf<'listBatches'>) =>
        allOf(async (page) => (await service.listBatches({ ...query, ...page }, call())).value);
      const named = byName(pipelines, hashes);
      const states = await eachOf(named.hashes, async (hash) =>
        eachOf(await list({ proofHash: hash }), async (batch) => {
          const asked = { batchId: batch.id, proofHash: hash };
          const ask = async (page: object) =>
            (await service.batchPipelines({ ...asked, ...page }, call())).value;
          return (await allOf(ask)).map((pipeline) => ({ batch, pipeline }));
        }),
      );
      const { known, own } = await byKey(keys, (idempotencyKey) => list({ idempotencyKey }));
      const ownIds = new Set(own.map(({ id }) => id));
      const found = states.flatMap(({ batch, pipeline: { type, proofHash: hash, actions, ...pipeline } }) => {
        const asked = named.get(type, hash);
        const hasLanded = pipeline.state === 'EXECUTED';
        // Members can execute the rest of a failed batch until it is cancelled.
        if (asked === undefined || (!hasLanded && isEnded(batch))) return [];
        return {
          ...{ item: { ...asked, actions }, state: hasLanded ? ('landed' as const) : ('open' as const) },
          ...{ isOwn: ownIds.has(batch.id), id: batch.id, date: pipeline.dateExecuted ?? batch.dateUpdated },
        };
      });
      return { known, batch: own[0], ...numbered(found, pipelineElements), resent: [] };
    },
  );

const ORDER: readonly Found['state'][] = ['landed', 'open', 'failed'];

function numbered<Item>(
  found: readonly (Omit<Found, 'element'> & { readonly item: Item })[],
  elementsOf: (items: readonly Item[]) => readonly Element[],
): Pick<DoneThere, 'found' | 'landed' | 'open'> {
  const ordered = found.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  const elements = elementsOf(ordered.map(({ item }) => item));
  const all = ordered.map(({ item: _item, ...one }, at) => ({ ...one, element: elements[at] as Element }));
  return {
    found: all,
    landed: all.flatMap(({ state, element }) => (state === 'landed' ? element : [])),
    open: all.filter(({ state }) => state === 'open'),
  };
}

export const isFinal = ({ status }: Pick<Batch, 'status'>): boolean =>
  status === 'EXECUTED' || status === 'FAILED';

/** Nothing more can be executed. After a failure without cancellation, members can still execute the rest. */
export const isEnded = ({ status, dateCancelled }: Pick<Batch, 'status' | 'dateCancelled'>): boolean =>
  status === 'EXECUTED' || dateCancelled !== undefined;

export async function getBatch(session: Session, batchId: string): Promise<Batch> {
  const { service, call } = await calling(session);
  return (await service.getBatch({ batchId }, call())).value;
}

export const findBatch = (session: Session, batchId: string): Promise<Batch | null> =>
  getBatch(session, batchId).catch((error: unknown) => {
    if (isFlywheelError(error, 'ERR_BATCH_NOT_FOUND') && error.options.doubtful !== true) return null;
    throw error;
  });

/** Requested last, to include changes of other processes under the same key. */
async function byKey<Own>(keys: readonly string[], find: (key: string) => Promise<readonly Own[]>) {
  const known = new Set<string>();
  const own = await eachOf(keys, async (key) => {
    const found = await find(key);
    if (found.length > 0) known.add(key);
    return found;
  });
  return { known, own };
}

async function eachOf<One, Item>(
  all: readonly One[],
  find: (one: One) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const found: Item[] = [];
  for (const one of all) found.push(...(await find(one)));
  return found;
}

async function calling(session: Session) {
  const opened = await session.service();
  return { service: opened.service, call: () => callWith(session, opened) };
}

/** Items by type and hash of their proof, and their hashes in pieces of as many as one request may name. */
function byName<Item extends { readonly type: string }>(
  items: readonly Item[],
  hashOf: (item: Item) => string,
) {
  const hashes = items.map(hashOf);
  // Of equal names the first one counts.
  const names = new Map(items.map((item, at) => [`${hashes[at]} ${item.type}`, item] as const).reverse());
  const different = [...new Set(hashes)];
  const starts = [...different.keys()].filter((at) => at % MAX_HASHES_ASKED === 0);
  return {
    hashes: starts.map((start) => different.slice(start, start + MAX_HASHES_ASKED).join(',')),
    get: (type: string, hash: string): Item | undefined => names.get(`${hash} ${type}`),
  };
}

const orNull =
  (
    session: Session,
    elementsOf: () => readonly Element[],
    ask: (
      keys: readonly string[],
      noted: ReadonlySet<Sha256>,
      elements: readonly Element[],
    ) => Promise<Omit<DoneThere, 'noted'>>,
  ): AskDoneThere =>
  async (keys, since) => {
    const elements = elementsOf();
    const noted = (await (await session.service()).journal()).landed(elements, since);
    try {
      return { ...(await ask(keys, noted, elements)), noted };
    } catch (error) {
      if (!(await canBeDoneWithout(session, error))) throw error;
      return null;
    }
  };

/**
 * Asks the service for its project. Without an answer, pins or else the address identify the target.
 * @throws `ERR_CONFIG_INVALID` for another project than the pinned one
 */
export async function locate(session: Session): Promise<void> {
  const opened = await session.service();
  const { locate: tell } = opened;
  if (tell === null) return;
  const told = await opened.service.describeKey(callWith(session, opened)).catch((error: unknown) => {
    if (isAnswer(error)) return null;
    if (!session.isDryRun) throw error;
    tellByNotes(session);
    return null;
  });
  const { multisig, mintAddress } = told?.value ?? {};
  if (multisig != null && mintAddress !== undefined)
    tell({ multisig: address(multisig), mint: address(mintAddress) });
}

/** Before it is sent: the API key may have been replaced by one of another project. @throws `ERR_CONFIG_INVALID` */
export async function requireOwnProject(session: Session, { flywheel }: Entry): Promise<void> {
  await locate(session);
  const { flywheel: told } = (await session.service()).operations;
  if (flywheel === null || told === null || flywheel === told) return;
  throw new FlywheelError('ERR_CONFIG_INVALID', 'The API key is of another project than this operation.', {
    hint: 'See its project: `flywheel whoami --check`.',
  });
}

/** The API key in use; `null`: the service cannot be asked. */
export async function describeKey(session: Session): Promise<AnswerOf<'describeKey'> | null> {
  const opened = await session.service();
  try {
    return (await opened.service.describeKey(callWith(session, opened))).value;
  } catch (error) {
    if (isNotOffered(error)) return null;
    throw error;
  }
}

export const NOT_SEEN = 'The API key may not see burns of some proof types of this file.';

/** Elements that the service hides from an API key of other types. */
export async function hiddenOf(session: Session, burns: readonly BurnRequest[]): Promise<readonly Element[]> {
  const seen = (await describeKey(session))?.proofTypes ?? null;
  return burnElements(burns).filter((_, at) => seen?.includes(burns[at]?.type ?? '') === false);
}

/** Any answer proves that the service is there; the next request shows what it means. */
const isAnswer = (error: unknown): boolean =>
  isFlywheelError(error) &&
  (error.code === 'ERR_RESPONSE_INVALID' || ((error.status ?? 500) < 500 && error.status !== 429));

const elementsOf = (found: readonly Found[]): readonly Element[] => found.map(({ element }) => element);

function countBy(elements: readonly Element[]): Map<Sha256, number> {
  const counts = new Map<Sha256, number>();
  for (const { content } of elements) counts.set(content, (counts.get(content) ?? 0) + 1);
  return counts;
}

function firstOf(elements: readonly Element[], counts: ReadonlyMap<Sha256, number>): readonly Element[] {
  const left = new Map(counts);
  return elements.filter(({ content }) => {
    const more = left.get(content) ?? 0;
    left.set(content, more - 1);
    return more > 0;
  });
}

function landedSince(
  elements: readonly Element[],
  before: readonly number[],
  answer: DoneThere,
): readonly Element[] {
  const landed = answer.landed;
  if (before.length === 0) return landed;
  const counts = new Map(elements.map(({ content }, at) => [content, before[at] ?? 0]));
  const own = landed.filter(({ content }) => counts.has(content));
  const earlier = new Set(firstOf(own, counts));
  return own.filter((element) => !earlier.has(element));
}

/** Landed according to the journal, but not at the service. */
function lostOf(noted: readonly Element[], there: readonly Element[]): readonly Element[] {
  const known = new Set(firstOf(noted, countBy(there)));
  return noted.filter((one) => !known.has(one));
}

const less = (
  counts: ReadonlyMap<Sha256, number>,
  others: ReadonlyMap<Sha256, number>,
): ReadonlyMap<Sha256, number> =>
  new Map([...counts].map(([content, count]) => [content, count - (others.get(content) ?? 0)]));

function noteLanded(
  journal: Journal,
  kind: OperationKind,
  news: readonly Element[],
  { found }: DoneThere,
): void {
  const dates = found.flatMap(({ state, date }) => (state === 'landed' ? date : []));
  const latest = dates.sort().at(-1);
  if (latest !== undefined && news.length > 0) journal.noteLanded(kind, news, latest);
}

/** The error has its own hint. */
const SAYS_ALL = { keyUnused: false } as const;

/**
 * Compares the journal with the service, and notes what landed by requests that the journal does not know.
 * @param elements - all of the file.
 * @param own - landed by the operation itself, and not noted yet.
 * @throws `ERR_INPUT_INVALID` for what may still land by another request; `ERR_OUTCOME_UNKNOWN` for what landed by the journal only.
 */
async function compare(
  session: Session,
  operation: Pick<Entry, 'kind'> & Partial<Entry>,
  { elements, own = [] }: { readonly elements: readonly Element[]; readonly own?: readonly Sha256[] },
  answer: DoneThere,
): Promise<void> {
  const { kind, id, since = 0 } = operation;
  const opened = await session.service();
  const journal = await opened.journal();
  const landed = landedSince(elements, operation.before ?? [], answer);
  const open = answer.open;
  const inJournal = journal.landed(elements, since);
  const noted = new Set([...inJournal, ...own]);
  const isNoted = ({ digest }: Element): boolean => noted.has(digest);
  const before = new Set([...answer.noted, ...own]);
  const lost = lostOf(
    elements.filter(({ digest }) => before.has(digest)),
    [...landed, ...answer.resent],
  );
  if (lost.length > 0) throw notThere(session, elements, { lost, noted: noted.size, operation });
  // Equal elements are interchangeable: the journal may have noted another one. So only the counts matter.
  const unnoted = countBy(elements.filter((one) => isNoted(one) && !inJournal.has(one.digest)));
  const more = less(less(countBy(landed), journal.countLanded(landed, since)), unnoted);
  const contents = new Set(elements.map(({ content }) => content));
  const known = new Set([...noted, ...journal.landed(landed, since)]);
  const isKnown = ({ digest }: Element): boolean => known.has(digest);
  const ofOthers = (all: readonly Element[]) =>
    all.filter((one) => !contents.has(one.content) && !isKnown(one));
  const news = firstOf([...elements.filter((one) => !isNoted(one)), ...ofOthers(landed)], more);
  noteLanded(journal, kind, news, answer);
  for (const { digest } of news) known.add(digest);
  const others = open.filter(({ isOwn }) => !isOwn);
  const left = firstOf(
    elements.filter((one) => !isKnown(one)),
    countBy(elementsOf(others)),
  );
  const mayLand = [...left, ...ofOthers(elementsOf(others))];
  if (mayLand.every((one) => journal.isOpen(one, id))) return;
  const asked = new Set(mayLand.map(({ content }) => content));
  const ids = [...new Set(others.flatMap((one) => (asked.has(one.element.content) ? one.id : [])))];
  const which = `${kind === 'batch' ? 'batch' : 'transaction'} ${namedText(ids)}`;
  throw notSent(
    `${mayLand.length} of ${countText(elements.length, nounOf(kind))} belong to another, unfinished request of the service: ${which}.`,
    kind === 'batch'
      ? await executeOrCancel(session, ids[0] ?? 'BATCH_ID')
      : finishBurnHint(session, opened.isOnThisMachine),
    SAYS_ALL,
  );
}

const finishBurnHint = ({ settings }: Session, isOnThisMachine: boolean): string =>
  isOnThisMachine
    ? `Finish that request first: \`${commandLine(settings, 'pending', 'resume')}\``
    : `The service finishes that request by itself. Wait until it is no longer listed: \`${commandLine(settings, 'history', '--status', 'PENDING')}\``;

/**
 * For a file that the journal does not know, or only as cancelled.
 * @returns `isKnown`: the service knows its first request; `before`: for `--again`; `isLookedUp`: all of it was
 * @throws as {@link compare}
 */
export async function askWhatIsDone(
  session: Session,
  journal: Journal,
  request: OperationRequest,
  { ask, requireSeen }: Pick<Work<unknown>, 'ask' | 'requireSeen'>,
): Promise<Pick<OperationRequest, 'isKnown' | 'before'> & { readonly isLookedUp?: boolean }> {
  const { kind, elements, again } = request;
  const known = journal.known(request);
  const goesOn = !again && known !== undefined && known.state !== 'cancelled';
  if (isAlwaysNew(request) || goesOn) return {};
  if (again) await requireSeen?.();
  let answer: DoneThere | null;
  // What another process lands meanwhile is in the journal, but not in this answer.
  do answer = await ask([journal.keyOf(request)]);
  while (answer !== null && journal.landed(elements).size > answer.noted.size);
  if (answer === null) {
    tellByNotes(session);
    return {};
  }
  if (again) {
    // An unfinished operation is not repeated.
    if (known === undefined || isOver(known.state)) await tellOfUnnoted(session, journal, request, answer);
    const counts = countBy(answer.landed);
    return { before: elements.map(({ content }) => counts.get(content) ?? 0) };
  }
  if (answer.known.size > 0 && known === undefined) return { isKnown: true };
  await compare(session, { kind }, { elements }, answer);
  return { isLookedUp: true };
}

/**
 * A lost or restored journal lacks runs, so "again" may be once too often. They are noted now: what is found later landed since.
 * @throws `ERR_DECLINED`
 */
async function tellOfUnnoted(
  session: Session,
  journal: Journal,
  { kind, elements }: OperationRequest,
  answer: DoneThere,
): Promise<void> {
  const sends = session.isDryRun === true ? 'would send' : 'now sends';
  const { size } = answer.noted;
  if (size > 0)
    session.output.tell(
      `${grouped(size)} of ${countText(elements.length, nounOf(kind))} landed before. --again ${sends} all of them once more.`,
    );
  const landed = answer.landed;
  const noted = journal.landed(landed);
  const counts = less(countBy(landed), journal.countLanded(landed, null));
  const news = firstOf(
    landed.filter(({ digest }) => !noted.has(digest)),
    counts,
  );
  noteLanded(journal, kind, news, answer);
  const unnoted = news.length;
  const mayLand = answer.open.filter(({ element }) => !journal.isOpen(element)).length;
  if (unnoted + mayLand === 0) return;
  const what = [
    ...(unnoted > 0 ? [`${grouped(unnoted)} landed`] : []),
    ...(mayLand > 0 ? [`${grouped(mayLand)} may still land`] : []),
  ].join(', and ');
  const text = `The service has requests for this content that the journal of this machine does not have: ${what}.`;
  const sent = countText(elements.length, nounOf(kind));
  const isAsked = canAsk(session) && !session.settings.yes && session.isDryRun !== true;
  if (isAsked)
    await requireConsent(session, `${text} Send ${sent} again?`, { otherwise: 'Nothing was sent.' });
  else session.output.warn(`${text} --again ${sends} ${sent} once more.`);
}

/** The requests of an operation that have no answer. */
export interface Unanswered {
  /** `indexes` are those of elements in the file. */
  readonly requests: readonly { readonly key: string; readonly indexes: readonly number[] }[];
  /** Elements that landed by requests with an answer. */
  readonly own?: readonly Sha256[];
}

type LookedUp = Pick<Work<unknown>, 'ask' | 'elements' | 'rest' | 'allowChanged' | 'requireUnsent'>;

interface Remaining {
  readonly left: readonly number[];
  /** Elements that other requests landed. */
  readonly leftOut: readonly number[];
  /** The batch of the requests is cancelled; a rest begins after it. */
  readonly isCancelled?: boolean;
  /** The service knows the operation, and other requests landed all that was left. */
  readonly isOver?: boolean;
}

/**
 * Finds what an operation would still send. A request that the service has never seen may be delayed, so its replacement uses
 * the same key.
 * @returns `null`: the service cannot be asked.
 * @throws as {@link compare}; `ERR_INPUT_INVALID` where another request landed what this would send
 */
async function findRemaining(
  session: Session,
  operation: Entry,
  { ask, elements, rest: isRest = false, requireUnsent }: LookedUp,
  { requests, own = [] }: Unanswered,
): Promise<Remaining | null> {
  const { kind, since } = operation;
  const answer = await ask(
    requests.map(({ key }) => key),
    since,
  );
  if (answer === null) return null;
  const { batch, found } = answer;
  const journal = await (await session.service()).journal();
  const numbers = new Map(elements.map((element, index) => [element, index]));
  const numbersOf = (some: readonly Element[]) => some.flatMap((one) => numbers.get(one) ?? []);
  const next = requests.flatMap(({ indexes }) => pick(elements, indexes));
  if (batch?.dateCancelled !== undefined) {
    await compare(session, operation, { elements, own }, answer);
    // Else the key is of another part of this file, which another machine sent.
    const others = remainingOfCancelled(journal, operation, elements, isRest);
    if (others === null && batch.totals.pipelines !== next.length)
      throw wasCancelled(journal, elements, batch.dateCancelled).with(SAYS_ALL);
    return others ?? { left: [], leftOut: [] };
  }
  const ownFound = found.filter(({ isOwn }) => isOwn);
  const ownLanded = elementsOf(ownFound.filter(({ state }) => state === 'landed'));
  const landedByIt = firstOf(next, countBy(ownLanded)).map(({ digest }) => digest);
  await compare(session, operation, { elements, own: [...own, ...landedByIt] }, answer);
  const unknown = operation.isNew ? [] : requests.filter(({ key }) => !answer.known.has(key));
  for (const request of unknown) await requireUnsent?.(operation, request, found);
  // For a burn, its own requests are done or in progress. A pipeline that has not landed needs the operation to continue.
  const settled = new Set(firstOf(next, countBy(kind === 'batch' ? ownLanded : elementsOf(ownFound))));
  const unsettled = next.filter((element) => !settled.has(element));
  const landed = journal.landed(unsettled, since);
  const isThere = ({ digest }: Element): boolean => landed.has(digest);
  const done = unsettled.filter(isThere);
  // A request that the service knows cannot be replaced: only it can land its elements.
  const begun = requests.flatMap(({ key, indexes }) => (answer.known.has(key) ? indexes : []));
  const isBegun = numbersOf(done).some((index) => begun.includes(index));
  const isEnded =
    kind === 'batch' ? batch?.status === 'EXECUTED' : !ownFound.some(({ state }) => state === 'open');
  const isOver = isEnded && isBegun && done.length === unsettled.length;
  // Nothing more of a failed batch would be sent.
  if (batch?.status === 'FAILED') return { left: [], leftOut: [] };
  if (done.length > 0 && !isOver && (isBegun || !isRest))
    throw notSent(
      `Another request already landed ${done.length} of the ${countText(next.length, nounOf(kind))} of this operation.`,
      wayOut(session, operation, { isBegun, isAll: done.length === next.length }, batch?.id),
      SAYS_ALL,
    );
  const left = numbersOf(unsettled.filter((one) => !isThere(one)));
  return { left, leftOut: numbersOf(done), isOver };
}

/** `null`: no rest begins after the cancelled batch. */
function remainingOfCancelled(
  journal: Journal,
  { since }: Entry,
  elements: readonly Element[],
  isRest: boolean,
): Remaining | null {
  const landed = journal.landed(elements, since);
  const isInPart = since > 0 ? landed.size > 0 : hasLandedInPart(journal, elements);
  if (!isRest || !isInPart) return null;
  const left = elements.flatMap(({ digest }, index) => (landed.has(digest) ? [] : index));
  return { left, leftOut: [], isCancelled: true };
}

/** Also refuses elements that landed with another content. @throws as {@link findRemaining} and {@link requireUnchanged} */
export async function foreseeUnchanged(
  session: Session,
  operation: Entry,
  work: LookedUp,
  unanswered: Unanswered,
): Promise<Remaining | null> {
  const found = await findRemaining(session, operation, work, unanswered);
  const indexes = found?.left ?? unanswered.requests.flatMap((request) => request.indexes);
  await requireUnchanged(session, operation, work.elements, indexes, work);
  return found;
}

/** How long a look-up at the service counts. */
const SEEN_FOR_MS = 1_000;

/**
 * While a command waits for an answer, a rate limit or its earlier requests, another machine may land what it is about to send.
 * @returns what to do before sending: a further look-up, unless the last one began within a second. `isSetUp`: its batch waits.
 * @throws as {@link foreseeUnchanged}, in the code `sent` if this operation has sent something before
 */
export function lookingAgain(session: Session, sent: ErrorCode) {
  const seen = seenWithin(session);
  return (operation: Entry, work: LookedUp, unanswered: Unanswered, isSetUp = false): Promise<void> =>
    seen(async () => {
      if (sendsAll(operation)) return true;
      const keys = unanswered.requests.map(({ key }) => key);
      const answer = await work.ask(keys, operation.since);
      // What the service has begun goes on there.
      if (!isSetUp && unanswered.requests.some(({ key }) => answer?.known.has(key))) return false;
      const looked: LookedUp = { ...work, ask: async () => answer, rest: false };
      await foreseeUnchanged(session, operation, looked, unanswered);
      return true;
    }).catch((error: unknown) => {
      if (!operation.hasAnswers || !isFlywheelError(error, 'ERR_INPUT_INVALID')) throw error;
      throw new FlywheelError(sent, withoutNothingSent(error.message), error.options);
    });
}

/** @returns what runs a look-up, unless one that counts (true) began within a second. */
export function seenWithin({ context: { clock } }: Session) {
  let seenMs = clock.nowMs();
  return async (look: () => Promise<boolean>): Promise<void> => {
    const startedMs = clock.nowMs();
    // A clock that was set back says nothing.
    const isFresh = startedMs >= seenMs && startedMs - seenMs < SEEN_FOR_MS;
    if (!isFresh && (await look())) seenMs = startedMs;
  };
}

/** `--again` sends the whole file, whatever landed before. */
export const sendsAll = ({ since, isNew, isToldApart }: Entry): boolean =>
  since > 0 && (isNew || !isToldApart);

function wayOut(
  session: Session,
  { kind, id, isNew, since, hasAnswers }: Entry,
  { isBegun, isAll }: { readonly isBegun: boolean; readonly isAll: boolean },
  batchId: string | undefined,
): string {
  const forget = `\`${commandLine(session.settings, 'pending', 'forget', id)}\``;
  if (kind === 'burn' && since > 0) return `Drop this operation: ${forget}. Then add --again to burn again.`;
  if (kind === 'burn')
    return `Add --again to burn again${isNew ? '' : `. To drop this operation: ${forget}`}.`;
  if (!isBegun && isAll && !hasAnswers)
    return `${isNew ? '' : `Drop this operation: ${forget}. Then `}--again sends all of them once more.`;
  if (!isBegun) return 'Add --rest to send the others.';
  const rest = 'Then add --rest to send the others.';
  if (batchId !== undefined) return `Cancel its batch: ${cancelLine(session, batchId)}. ${rest}`;
  if (hasAnswers) return `Drop the requests without an answer: ${forget}. ${rest}`;
  const list = commandLine(session.settings, ...(kind === 'batch' ? ['batch', 'list'] : ['history']));
  return `See what landed: \`${list}\`${isNew ? '' : `, then ${forget}`}, then send the others in a new file.`;
}

/** Notes what other requests landed since, before a rest starts. @throws as {@link compare} */
export async function noteDone(
  session: Session,
  entry: Entry,
  { ask, elements }: LookedUp,
  { keys = [], own = [] }: { readonly keys?: readonly string[]; readonly own?: readonly Sha256[] } = {},
): Promise<void> {
  const answer = entry.isToldApart ? await ask(keys, entry.since) : null;
  if (answer === null) return tellByNotes(session);
  await compare(session, entry, { elements, own }, answer);
}

const told = new WeakSet<Session['output']>();

export function tellByNotes(
  { output }: Session,
  text = 'The service does not say what already landed. Only the journal of this machine was checked.',
): void {
  if (!told.has(output)) output.warn(text);
  told.add(output);
}

/**
 * Before a stored result is printed: does the service still know it? Without an answer within seconds, a notice says that only the
 * journal was checked.
 * @param find - those of `landed` that the service does not know; `null`: it cannot be asked.
 * @param requireLost - throws where they can be found elsewhere
 * @throws `ERR_OUTCOME_UNKNOWN`
 */
export async function requireThere(
  session: Session,
  entry: Entry,
  { ask, elements }: LookedUp,
  landed = landedOf(entry, elements),
  find = () => lostThere(ask, elements, landed, entry.before),
  requireLost = async () => {},
): Promise<void> {
  const { signal } = session.context;
  const lost = await soon(find()).catch((error: unknown) => {
    if (signal.aborted) throw error;
    return null;
  });
  if (lost === null) tellByNotes(session);
  else if (lost.length > 0) {
    await requireLost();
    throw notThere(session, elements, { lost, noted: landed.length });
  }
}

/** Everything of a file that landed according to the journal. */
export function landedOf(entry: Entry, elements: readonly Element[]): readonly Element[] {
  const noted = entry.landed(elements);
  return elements.filter(({ digest }) => noted.has(digest));
}

/** False also without an answer within seconds, and where earlier landings cannot be told apart from those of a repeat. */
export async function hasAllLanded(
  ask: AskDoneThere,
  elements: readonly Element[],
  { before, isToldApart }: Pick<Entry, 'before' | 'isToldApart'>,
): Promise<boolean> {
  const answer = isToldApart ? await soon(ask([])).catch(() => null) : null;
  return answer !== null && lostOf(elements, landedSince(elements, before, answer)).length === 0;
}

/** Elements of `landed` that the service has neither landed nor sends again; `null`: it cannot be asked. */
export async function lostThere(
  ask: AskDoneThere,
  elements: readonly Element[],
  landed: readonly Element[],
  before: readonly number[],
): Promise<readonly Element[] | null> {
  const answer = await ask([]);
  if (answer === null) return null;
  return lostOf(landed, [...landedSince(elements, before, answer), ...answer.resent]);
}

/**
 * A cache in front of the service may answer with the result of another request.
 * @param ask - what the service has done under the key, of what the answer names.
 * @param answer - `isNamed`: it has the id of the request, and is believed where the service cannot be asked.
 * @throws `ERR_OUTCOME_UNKNOWN`
 */
export async function requireAnswersKey(
  session: Session,
  ask: (opened: OpenedService) => Promise<readonly unknown[]>,
  { names, isNamed }: { readonly names: string; readonly isNamed: boolean },
): Promise<void> {
  const opened = await session.service();
  if (opened.kind !== 'remote') return;
  const said = ask(opened).catch(async (cause: unknown) => {
    if (isNamed || (await isUnoffered(session, cause))) return null;
    const reason = isFlywheelError(cause) ? ` ${cause.message}` : '';
    throw outcomeUnknown(
      `It is not known whether the service made ${names} for this request.${reason}`,
      undefined,
      { cause },
    );
  });
  const items = await (isNamed ? soon(said) : said);
  if (items === null || items.length > 0) return;
  throw outcomeUnknown(`The service answered with ${names}, which it did not create for this request.`);
}

/** A proxy may refuse what the service accepted. @throws `ERR_OUTCOME_UNKNOWN` if the service burned, or may, under the key. */
export async function requireRefused(session: Session, key: string, refusal: unknown): Promise<void> {
  const opened = await session.service();
  if (opened.kind !== 'remote' || !isFlywheelError(refusal)) return;
  // The service has done the other request under this key.
  if (refusal.code === 'ERR_IDEMPOTENCY_KEY_REUSED') return;
  const { status = 0, options } = refusal;
  if (status < 400 || status >= 500 || options.unsent === true || !saysNothingWasDone(refusal)) return;
  const asked = { idempotencyKey: key, limit: MAX_PAGE_ITEMS };
  const items = await opened.service.listBurns(asked, callWith(session, opened)).then(
    ({ value }) => value.items,
    // Only the service itself can say that it has no such list.
    (error: unknown) => (isNotOffered(error) && !(error as FlywheelError).options.doubtful ? [] : null),
  );
  if (items?.every(({ status }) => status === 'FAILED') === true) return;
  const what =
    items === null
      ? 'the request, and does not say what became of another copy of it'
      : 'the request after starting it';
  throw outcomeUnknown(`The service refused ${what}: ${refusal.message}`, undefined, { cause: refusal });
}

/** @param operation - ends first, unless it is over. */
function notThere(
  session: Session,
  elements: readonly Element[],
  {
    lost,
    noted,
    operation: { id = '', state, notes = {} } = {},
  }: { readonly lost: readonly Element[]; readonly noted: number; readonly operation?: Partial<Entry> },
): FlywheelError {
  const gone = new Set(lost);
  const which = namedText(elements.flatMap((element, index) => (gone.has(element) ? [index + 1] : [])));
  const apart = 'put the missing ones into a new file and send it with --again';
  const forget = `\`${commandLine(session.settings, 'pending', 'forget', id)}\``;
  const batchId = batchStages(notes).at(-1)?.batchId ?? '';
  const way =
    state === 'open'
      ? `: drop the requests without an answer (${forget}), and ${apart}. Then send the others: this file with --rest.`
      : `: ${state === 'waiting' ? `cancel the batch of this file (${cancelLine(session, batchId)}), and ` : ''}${lost.length === noted ? 'send this file with --again' : apart}.`;
  return outcomeUnknown(
    `The journal of this machine says that ${lost.length} of ${grouped(elements.length)} landed, but the service does not have these: ${which}. The service may have been restored from a backup, or the address may be of another service.`,
    `Look them up on chain. If some landed, remove them from the file. If none landed${way}`,
    SAYS_ALL,
  );
}
