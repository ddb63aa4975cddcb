/**
 * What a service itself says of the elements of a file. The journal of a machine may be lost, or older than the service: what has
 * landed is looked for by the hash of its proof before a file that the journal does not know is sent.
 */
import type { Batch, Pipeline, PipelineState } from '../../contract/schemas/batch.js';
import type { BurnRequest, BurnState } from '../../contract/schemas/burn.js';
import { MAX_PAGE_ITEMS } from '../../contract/schemas/page.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { JsonObject } from '../../values/canonical-json.js';
import { proofHash } from '../../values/digest.js';
import { MAX_HASHES_ASKED } from '../../values/schemas.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Session } from '../command.js';
import type { Element, Entry, Journal, OperationRequest } from '../journal/journal.js';
import { callWith, isNotOffered } from '../send.js';
import { countText } from '../views/unit.js';
import { burnElements, pipelineElements } from './elements.js';
import { commandLine } from './resume-line.js';
import { saysNothingWasDone } from './verdicts.js';

/** What a service says of the elements of an operation that is to begin. */
export type DoneThere =
  /** It cannot be asked. */
  | 'not offered'
  /** It knows the very request by its key, and goes on with it or answers it as before. */
  | 'same request'
  | {
      readonly landed: readonly Element[];
      /** When the last of them did; `null`: none has. */
      readonly date: string | null;
      /** What may land yet. */
      readonly open: readonly Element[];
    };

/** Asks a service. @param key - under which the request would go out. */
export type AskDoneThere = (key: string) => Promise<DoneThere>;

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
  orNotOffered(async (key) => {
    const { service, call } = await calling(session);
    const own = await service.listBurns({ idempotencyKey: key, limit: 1 }, call());
    if (own.value.items.length > 0) return 'same request';
    const named = byName(burns, ({ proof }) => proof);
    const found: BurnState[] = [];
    for (const hashes of pieces(named.hashes))
      found.push(
        ...(await allOf(
          async (page) => (await service.listBurns({ proofHash: hashes, ...page }, call())).value,
        )),
      );
    return there(
      found.flatMap((burn) => {
        const asked = named.get(burn.type, burn.hash);
        if (asked === undefined || burn.status === 'FAILED') return [];
        const date = burn.status === 'SUCCESS' ? (burn.dateBurned ?? burn.dateCreated) : null;
        return { like: { ...asked, burnAmount: Number(burn.amount) }, date };
      }),
      burnElements,
    );
  });

/** Pipelines of a file, as their service has them in whichever batches. */
export const pipelinesDoneThere = (session: Session, pipelines: readonly Pipeline[]): AskDoneThere =>
  orNotOffered(async (key) => {
    const { service, call } = await calling(session);
    const own = await service.listBatches({ idempotencyKey: key, limit: 1 }, call());
    if (own.value.items.length > 0) return 'same request';
    const named = byName(pipelines, ({ payload }) => parseStrictJson(payload).value as JsonObject);
    const found: { readonly batch: Batch; readonly state: PipelineState }[] = [];
    for (const hashes of pieces(named.hashes)) {
      const asked = { proofHash: hashes };
      const batches = await allOf(
        async (page) => (await service.listBatches({ ...asked, ...page }, call())).value,
      );
      for (const batch of batches) {
        const { id: batchId } = batch;
        const states = await allOf(
          async (page) => (await service.batchPipelines({ batchId, ...asked, ...page }, call())).value,
        );
        found.push(...states.map((state) => ({ batch, state })));
      }
    }
    return there(
      found.flatMap(({ batch, state }) => {
        const asked = named.get(state.type, state.proofHash);
        const hasLanded = state.state === 'EXECUTED';
        // What is left of a batch that failed can be executed by its members until it is cancelled.
        if (asked === undefined || (!hasLanded && isOver(batch))) return [];
        const date = hasLanded ? (state.dateExecuted ?? batch.dateUpdated) : null;
        return { like: { ...asked, actions: state.actions }, date };
      }),
      pipelineElements,
    );
  });

const isOver = ({ status, dateCancelled }: Batch): boolean =>
  status === 'EXECUTED' || dateCancelled !== undefined;

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
): DoneThere {
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

/** Has the service no such list, or none that can be looked through in this way? */
const cannotBeAsked = (error: unknown): boolean =>
  isNotOffered(error) ||
  isFlywheelError(error, 'ERR_INVALID_REQUEST') ||
  isFlywheelError(error, 'ERR_RESPONSE_INVALID');

const orNotOffered =
  (ask: AskDoneThere): AskDoneThere =>
  async (key) => {
    try {
      return await ask(key);
    } catch (error) {
      if (!cannotBeAsked(error)) throw error;
      return 'not offered';
    }
  };

/**
 * Before a file is begun of which the journal knows nothing: notes what of it the service has done.
 * @throws `ERR_INPUT_INVALID` for what may land by other hands; `ERR_OUTCOME_UNKNOWN` for what has landed by the journal, and of
 * which the service does not know.
 */
export async function askWhatIsDone(
  session: Session,
  journal: Journal,
  { kind, content, origin, elements, again }: OperationRequest,
  ask: AskDoneThere | undefined,
): Promise<void> {
  if (ask === undefined || again || journal.known(kind, content, origin) !== undefined) return;
  const answer = await ask(journal.keyOf(kind, content, origin));
  const here = journal.compare(elements);
  if (answer === 'not offered') {
    if (here.landed.length > 0) session.output.tell(BY_NOTES);
  }
  if (typeof answer === 'string') return;
  const landed = new Set(answer.landed.map(({ digest }) => digest));
  const lost = here.landed.filter((digest) => !landed.has(digest));
  if (lost.length > 0) throw notThere(`${lost.length} of ${countText(elements.length, 'element')}`);
  const { known } = journal.compare([...answer.landed, ...answer.open]);
  const isUnknown = ({ digest }: Element): boolean => !known.includes(digest);
  const open = answer.open.filter(isUnknown);
  if (open.length > 0) {
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `${open.length} of ${countText(elements.length, 'element')} are part of another request that the service has not finished. Nothing was sent.`,
      {
        hint: `See \`${commandLine(session.settings, ...(kind === 'batch' ? ['batch', 'list'] : ['burn', 'list']))}\`; end that first.`,
      },
    );
  }
  const news = answer.landed.filter(isUnknown);
  if (answer.date !== null && news.length > 0) journal.noteLanded(kind, news, answer.date);
}

const BY_NOTES = 'This service cannot be asked what it has done; this machine goes by its own notes.';

/**
 * Before a burn is told as done that was not asked for just now: does the service know its transaction? Where it does not say so
 * soon, the notes are told as what they are.
 * @throws `ERR_OUTCOME_UNKNOWN`
 */
export async function requireThere(session: Session, entry: Entry, txHash: string): Promise<void> {
  if (!entry.isHere) return;
  const { service, call } = await calling(session);
  const { signal } = session.context;
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const found = await service.listBurns({ txHash, limit: 1 }, { ...call(), signal: patience }).then(
    ({ value }) => value.items.length > 0,
    (error: unknown) => {
      if (signal.aborted) throw error;
      session.output.tell(BY_NOTES);
      return true;
    },
  );
  if (!found) throw notThere('what was done');
}

/** How long the outcome of what is done waits for the word of a service. */
const PATIENCE_MS = 5_000;

/**
 * An answer that does not name the request that it is for may be one to an earlier request.
 * @throws `ERR_OUTCOME_UNKNOWN` where the service has done something else under the key.
 */
export async function requireAnswersKey(session: Session, key: string, txHash: string): Promise<void> {
  const { service, call } = await calling(session);
  const items = await service.listBurns({ idempotencyKey: key, limit: 1 }, call()).then(
    ({ value }) => value.items,
    (error: unknown) => {
      if (!cannotBeAsked(error)) throw error;
      return null;
    },
  );
  if (items === null || items.some((burn) => burn.txHash === txHash)) return;
  throw new FlywheelError(
    'ERR_OUTCOME_UNKNOWN',
    `The answer names transaction ${txHash}, and the service has not sent that for this request.`,
  );
}

/**
 * A refusal may come from whatever stands before a service. @throws `ERR_OUTCOME_UNKNOWN` where the service has burned, or may yet
 * burn, for the request that was refused.
 */
export async function requireRefused(session: Session, key: string, refusal: unknown): Promise<void> {
  const opened = await session.service();
  if (opened.kind !== 'remote' || !isFlywheelError(refusal)) return;
  if (refusal.status === undefined || !saysNothingWasDone(refusal)) return;
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
    `By the notes of this machine ${what} has landed, and the service knows nothing of it. It may have been restored to an earlier state.`,
    { hint: 'See what is on chain before you do anything; --again sends all of it anew.' },
  );
