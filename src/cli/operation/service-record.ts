/** What a service itself says of the elements of a file: what has landed, or may land yet, is found by the hash of its proof. */

import { MAX_PAGE_ITEMS } from '../../contract/limits.js';
import type { Batch, ListBatchesQuery, Pipeline } from '../../contract/schemas/batch.js';
import type { BurnRequest, BurnState, ListBurnsQuery } from '../../contract/schemas/burn.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';
import type { JsonObject } from '../../values/canonical-json.js';
import { proofHash } from '../../values/digest.js';
import { MAX_HASHES_ASKED } from '../../values/key-terms.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Session } from '../command.js';
import type { Element } from '../journal/journal.js';
import { callWith, canBeDoneWithout } from '../send.js';
import { tellByNotes } from './done-there.js';
import { burnElements, pipelineElements } from './elements.js';

/** What a service says of the elements of an operation. */
export interface DoneThere {
  /** Of the keys that it was asked with, those by which it knows a request, and goes on with that or answers it as before. */
  readonly known: ReadonlySet<string>;
  /** The batch of that request, and when that was cancelled. */
  readonly batch?: Pick<Batch, 'id' | 'status' | 'dateCancelled'>;
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
  /** Of each of these the batch, or the transaction of the burn. */
  readonly openIn: readonly string[];
}

/** Asks a service; `null`: it cannot be asked. @param keys - those of the operation's own requests. */
export type AskDoneThere = (keys: readonly string[]) => Promise<DoneThere | null>;

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}
type AskPage<Item> = (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>;

export async function allOf<Item>(ask: AskPage<Item>): Promise<readonly Item[]> {
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
  orNull(session, async (keys) => {
    const { service, call } = await calling(session);
    const list = (query: ListBurnsQuery) =>
      allOf(async (page) => (await service.listBurns({ ...query, ...page }, call())).value);
    const named = byName(burns, ({ proof }) => proof);
    const found = await eachOf(pieces(named.hashes), (hashes) => list({ proofHash: hashes }));
    // After the others: what another process is just doing by the same key is then among them.
    const [known, own] = await byKey(keys, (idempotencyKey) => list({ idempotencyKey }));
    const ownHashes = new Set(own.map(({ txHash }) => txHash));
    const ownOf = (wanted: BurnState['status']): readonly Element[] =>
      burnElements(
        found.filter(({ status, txHash }) => status === wanted && ownHashes.has(txHash)).flatMap(like),
      );
    const like = (burn: BurnState): readonly BurnRequest[] => {
      const asked = named.get(burn.type, burn.hash);
      return asked === undefined ? [] : [{ ...asked, burnAmount: Number(burn.amount) }];
    };
    const landed = (burn: BurnState): boolean => burn.status === 'SUCCESS';
    return {
      ...{ known, own: burnElements(own.flatMap(like)) },
      ...{ ownLanded: ownOf('SUCCESS'), ownOpen: ownOf('PENDING') },
      ...there(
        found.flatMap((burn) => {
          if (burn.status === 'FAILED') return [];
          const date = landed(burn) ? (burn.dateBurned ?? burn.dateCreated) : null;
          return like(burn).map((one) => ({ like: one, date, id: burn.txHash }));
        }),
        burnElements,
      ),
    };
  });

/** Pipelines of a file, as their service has them in whichever batches. */
export const pipelinesDoneThere = (session: Session, pipelines: readonly Pipeline[]): AskDoneThere =>
  orNull(session, async (keys) => {
    const { service, call } = await calling(session);
    const list = (query: ListBatchesQuery) =>
      allOf(async (page) => (await service.listBatches({ ...query, ...page }, call())).value);
    const named = byName(pipelines, ({ payload }) => parseStrictJson(payload).value as JsonObject);
    const states = await pipelinesWith(session, named.hashes);
    const found = states.flatMap(({ batch, pipeline }) => {
      const like = named.get(pipeline.type, pipeline.proofHash);
      const hasLanded = pipeline.state === 'EXECUTED';
      // What is left of a batch that failed can be executed by its members until it is cancelled.
      if (like === undefined || (!hasLanded && isEnded(batch))) return [];
      const date = hasLanded ? (pipeline.dateExecuted ?? batch.dateUpdated) : null;
      return [{ batch, id: batch.id, like: { ...like, actions: pipeline.actions }, date }];
    });
    // After the others, as those of burns.
    const [known, own] = await byKey(keys, (idempotencyKey) => list({ idempotencyKey }));
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
      ...{ known, own: ownLanded, ownLanded, ownOpen: ownOf(false) },
      ...there(found, pipelineElements),
      ...(batch === undefined ? {} : { batch }),
    };
  });

/** Every pipeline with one of these proofs, in whichever batch. @param hashes - of the proofs. */
export async function pipelinesWith(session: Session, hashes: readonly string[]) {
  const { service, call } = await calling(session);
  return eachOf(pieces(hashes), async (proofHash) => {
    const batches = await allOf(
      async (page) => (await service.listBatches({ proofHash, ...page }, call())).value,
    );
    return eachOf(batches, async (batch) => {
      const asked = { batchId: batch.id, proofHash };
      const pipelines = await allOf(
        async (page) => (await service.batchPipelines({ ...asked, ...page }, call())).value,
      );
      return pipelines.map((pipeline) => ({ batch, pipeline }));
    });
  });
}

export const isFinal = ({ status }: Pick<Batch, 'status'>): boolean =>
  status === 'EXECUTED' || status === 'FAILED';

/** Nothing more of it can be executed; of what only failed, a member can still execute the rest. */
export const isEnded = ({ status, dateCancelled }: Pick<Batch, 'status' | 'dateCancelled'>): boolean =>
  status === 'EXECUTED' || dateCancelled !== undefined;

/** A batch by its id. */
export async function getBatch(session: Session, batchId: string): Promise<Batch> {
  const { service, call } = await calling(session);
  return (await service.getBatch({ batchId }, call())).value;
}

/** The same; `null`: the service does not know it. */
export const findBatch = (session: Session, batchId: string): Promise<Batch | null> =>
  getBatch(session, batchId).catch((error: unknown) => {
    if (isFlywheelError(error, 'ERR_BATCH_NOT_FOUND')) return null;
    throw error;
  });

/** What is found by each key, and which of them name something. */
async function byKey<Found>(
  keys: readonly string[],
  find: (key: string) => Promise<readonly Found[]>,
): Promise<readonly [known: ReadonlySet<string>, found: readonly Found[]]> {
  const known = new Set<string>();
  const found = await eachOf(keys, async (key) => {
    const one = await find(key);
    if (one.length > 0) known.add(key);
    return one;
  });
  return [known, found];
}

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
  found: readonly { readonly like: Item; readonly date: string | null; readonly id: string }[],
  elementsOf: (items: readonly Item[]) => readonly Element[],
): Pick<DoneThere, 'landed' | 'date' | 'open' | 'openIn'> {
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
    openIn: ordered.slice(dates.length).map(({ id }) => id),
  };
}

const orNull =
  (session: Session, ask: AskDoneThere): AskDoneThere =>
  async (keys) => {
    try {
      return await ask(keys);
    } catch (error) {
      if (!(await canBeDoneWithout(session, error))) throw error;
      return null;
    }
  };

/**
 * Asks the service, where no pins say it; one that has no such question is told by its address.
 * @throws where it does not answer, and nothing was sent then.
 */
export async function locate(session: Session): Promise<void> {
  const opened = await session.service();
  const { locate: tell } = opened;
  if (tell === null) return;
  try {
    const { value } = await opened.service.describeKey(callWith(session, opened));
    const { multisig, mintAddress } = value;
    if (multisig != null) tell({ multisig: address(multisig), mint: address(mintAddress) });
  } catch (error) {
    if (isAnswer(error)) return;
    if (!session.isDryRun) throw error;
    tellByNotes(session);
  }
}

/** It answers, and does not say it; whatever that means, what is sent next will come to know. */
const isAnswer = (error: unknown): boolean =>
  isFlywheelError(error) &&
  (error.code === 'ERR_RESPONSE_INVALID' || ((error.status ?? 500) < 500 && error.status !== 429));
